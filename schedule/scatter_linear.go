package schedule

// scatterLinear has the root put each block to its rank. No block goes over two links, so it is the
// best there is for long blocks; of short ones the root sends P-1 messages one by one.
func scatterLinear() Algorithm {
	return scatterAlong(linearBranches, Algorithm{
		Name:     "scatter/linear",
		Paper:    "ours",
		Summary:  "the root puts every block to its rank",
		Messages: "F(P-1) puts",
	})
}
