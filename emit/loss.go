package emit

import "fmt"

// Loss says which multicasts are lost. The zero value is no loss.
type Loss struct {
	Seed uint64
	// Rate is the part of the multicasts that are lost, independently for each receiver and chunk.
	// 0 is none, 1 is all.
	Rate float64
}

// Hits reports whether rank to loses rank from's multicast of the chunk. The same arguments always
// give the same answer.
func (l Loss) Hits(from, to, chunk int) bool {
	switch {
	case l.Rate <= 0:
		return false
	case l.Rate >= 1:
		return true
	}
	h := l.Seed
	for _, v := range []int{from, to, chunk} {
		h = mix(h ^ uint64(v))
	}
	return float64(h>>11)/(1<<53) < l.Rate
}

// mix is one step of the generator SplitMix64 (Steele, Lea, Flood, 2014): the next state with its
// bits mixed.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// String spells the loss as users write it: none, all, or SEED:RATE.
func (l Loss) String() string {
	switch {
	case l.Rate <= 0:
		return "none"
	case l.Rate >= 1:
		return "all"
	}
	return fmt.Sprintf("%d:%g", l.Seed, l.Rate)
}
