package schedule

import "math/bits"

// circulant is a rootless broadcast on the circulant graph of the powers of
// two: rank r has the channels r+2^k modulo P for 2^k < P, and a message
// follows the binomial tree rotated to its origin. Any origin reaches every
// rank in ⌈log2 P⌉ hops, about half of what the skip ring needs in its worst
// case, for ⌈log2 P⌉ channels a rank instead of two on average.
func circulant() Algorithm {
	t := tree{degree: binomialDegree, child: binomialChild}
	return Algorithm{
		Name:       "anycast/circulant",
		Collective: Anycast,
		Paper:      "ours",
		Summary:    "rootless: the binomial tree rotated to the origin, on channels to r+2^k",
		Messages:   "P-1 puts a message",
		Params:     anycastParams(),
		size:       t.size,
		fill:       t.fill,
		overlay:    func(ranks int) Overlay { return circulantOverlay{ranks} },
	}
}

type circulantOverlay struct{ ranks int }

func (o circulantOverlay) Channels(dst []int, rank int) []int {
	for k := range bits.Len(uint(o.ranks - 1)) {
		dst = append(dst, (rank+1<<k)%o.ranks)
	}
	return dst
}

func (o circulantOverlay) Forward(dst []int, rank, origin, _ int) []int {
	v := rank - origin
	if v < 0 {
		v += o.ranks
	}
	for i := range binomialDegree(v, o.ranks) {
		dst = append(dst, (origin+binomialChild(v, o.ranks, i))%o.ranks)
	}
	return dst
}
