package schedule

// binomial is the binomial tree broadcast (papers 000, §4.1 and 002, §2.2),
// the baseline of both: the largest sub-tree is served first.
func binomial() Algorithm {
	t := tree{degree: binomialDegree, child: binomialChild}
	return Algorithm{
		Name:       "bcast/binomial",
		Collective: Bcast,
		Paper:      "000 §4, 002 §2",
		Summary:    "binomial tree, largest sub-tree first",
		Messages:   "F(P-1) puts",
		Params:     bcastParams(),
		size:       t.size,
		fill:       t.fill,
	}
}
