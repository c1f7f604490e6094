package schedule

import "math/bits"

// binomialDoubling is the binomial tree broadcast by distance doubling (paper 000, §4.1 and figure
// 3; Open MPI's default tree). v receives from the node that lacks v's highest set bit, and puts to
// v+2^k for 2^k > v, nearest first. So after i rounds the ranks 0 … 2^i-1 have the message.
//
// The nearest child has the largest sub-tree for every P, because P cuts all sub-trees by about the
// same part. So for one chunk no other order of the children is shorter in LogGP, and neither is
// any order of bcast/binomial. Both trees take 33 µs among 64 ranks; among 9 ranks this one takes
// 16.5 µs and the other 18 µs (doc.go, Order). With several chunks, a root that goes child by child
// takes from 13 % less to 1 % more time than chunk by chunk. The ranks below a child are scattered:
// with 64 ranks in blocks of eight to a host, 56 ranks get the message from another host, and only
// 7 by distance halving.
func binomialDoubling() Algorithm {
	t := tree{late: true, degree: doublingDegree, child: doublingChild}
	return Algorithm{
		Name:       "bcast/binomial-doubling",
		Collective: Bcast,
		Paper:      "000 §4",
		Summary:    "binomial tree, distance doubling: nearest rank first",
		Messages:   "F(P-1) puts",
		Params:     bcastParams(),
		size:       t.size,
		fill:       t.fill,
		slaves:     bcastSlaves,
	}
}

// doublingDegree returns how many children v has among n nodes.
func doublingDegree(v, n int) int {
	return max(0, bits.Len(uint(n-1-v))-bits.Len(uint(v)))
}

// doublingChild returns child i of v, the nearest first.
func doublingChild(v, _, i int) int { return v + 1<<(bits.Len(uint(v))+i) }
