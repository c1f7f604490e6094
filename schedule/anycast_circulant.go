package schedule

import "math/bits"

// circulant is a rootless broadcast on the circulant graph of the powers of two: rank r has the
// channels r+2^k modulo P for 2^k < P, and a message follows the binomial tree rotated to its
// origin. Any origin reaches every rank in ⌊log2 P⌋ hops, about half of the skip ring's worst case.
// A rank has ⌈log2 P⌉ channels, in place of two on average.
//
// A rank puts to the largest sub-tree first, counted in existing ranks. In LogGP no order is
// shorter: the put with the longest way to go comes first. Among 64 ranks it takes 33 µs, and
// nearest first takes 55.5 (LogGOPSim's parameters, 1 byte). Among 9, where the sub-tree of the
// farthest rank is that rank alone, it takes 16.5, and farthest first takes 18.
func circulant() Algorithm {
	t := tree{degree: binomialDegree, child: circulantChild}
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
	v := o.behind(rank, origin)
	for i := range binomialDegree(v, o.ranks) {
		dst = append(dst, (origin+circulantChild(v, o.ranks, i))%o.ranks)
	}
	return dst
}

// sender returns the rank from which another one gets a message of origin, origin itself for its
// own.
func (o circulantOverlay) Sender(rank, origin int) int {
	return (origin + binomialParent(o.behind(rank, origin))) % o.ranks
}

// behind returns how many ranks rank stands behind the origin on the ring of all ranks.
func (o circulantOverlay) behind(rank, origin int) int {
	if rank < origin {
		return rank - origin + o.ranks
	}
	return rank - origin
}

// circulantChild returns child i of v among n in the order of sending. The sub-tree of v+2^j has
// 2^j nodes. Only the farthest child's may have fewer, because n cuts it; it goes behind the
// children with more.
func circulantChild(v, n, i int) int {
	top := binomialDegree(v, n) - 1
	behind := max(0, top-bits.Len(uint(n-v-1<<top)))
	switch {
	case i < behind:
		return binomialChild(v, n, i+1)
	case i == behind:
		return binomialChild(v, n, 0)
	default:
		return binomialChild(v, n, i)
	}
}
