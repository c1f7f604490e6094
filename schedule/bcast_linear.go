package schedule

// linear is the broadcast from a single source (paper 004, §2): the root puts every chunk to every
// rank.
//
// It goes chunk by chunk. Rank by rank is never shorter in LogGP (doc.go, Order), and takes as long
// if a receiver keeps up with the root.
func linear() Algorithm {
	t := tree{late: true, degree: linearDegree, child: linearChild}
	return Algorithm{
		Name:       "bcast/linear",
		Collective: Bcast,
		Paper:      "004 §2",
		Summary:    "the root puts every chunk to every rank",
		Messages:   "F(P-1) puts",
		Params:     bcastParams(),
		size:       t.size,
		fill:       t.fill,
		slaves:     bcastSlaves,
	}
}

func linearDegree(v, group int) int {
	if v > 0 {
		return 0
	}
	return group - 1
}

func linearChild(_, _, i int) int { return i + 1 }
