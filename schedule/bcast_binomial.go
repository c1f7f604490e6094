package schedule

// binomial is the binomial tree broadcast by distance halving (paper 002, §2.2,
// figure 1; MPICH's): v receives from v without its lowest set bit and puts to
// v+2^k, the largest k first. Paper 000 draws the same tree by distance doubling,
// which is bcast/binomial-doubling.
//
// In LogGP the largest sub-tree has the longest way to go and is best served first:
// 33 µs among 64 ranks, nearest first 55.5. The largest k stands for it where P is
// a power of two. Where P is little more, the root's farthest child has few ranks
// or none below it, and is served first all the same: 18 µs among 9 ranks in place
// of 16.5, at most 14 % and on average 1 % too much up to 130 ranks (doc.go, Order).
// Whether the root goes chunk by chunk or child by child changes at most 1 %.
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
