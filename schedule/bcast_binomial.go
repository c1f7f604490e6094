package schedule

// binomial is the binomial tree broadcast by distance halving (paper 002, §2.2, figure 1; also in
// MPICH). v receives from the node that lacks v's lowest set bit, and puts to v+2^k, the largest k
// first. Paper 000 draws the same tree by distance doubling, which is bcast/binomial-doubling.
//
// In LogGP the largest sub-tree has the longest way to go and is best served first. Among 64 ranks
// that takes 33 µs, and nearest first takes 55.5 µs. The largest k means the largest sub-tree if P
// is a power of two. If P is little more, the root's farthest child has few ranks or none below it,
// but is still served first. Among 9 ranks that takes 18 µs instead of 16.5 µs. Up to 130 ranks it
// takes at most 14 % too much, and 1 % on average (doc.go, Order). It changes at most 1 % whether
// the root goes chunk by chunk or child by child.
func binomial() Algorithm {
	t := tree{late: true, degree: binomialDegree, child: binomialChild}
	return Algorithm{
		Name:       "bcast/binomial",
		Collective: Bcast,
		Paper:      "002 §2",
		Summary:    "binomial tree, distance halving: farthest rank first",
		Messages:   "F(P-1) puts",
		Params:     bcastParams(),
		size:       t.size,
		fill:       t.fill,
		slaves:     bcastSlaves,
	}
}
