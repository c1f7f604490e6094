package schedule

// scatterLinear lets the root put each block to its rank. No block crosses two links, so this is
// the best algorithm for long blocks. With short blocks the root sends P-1 messages one by one.
func scatterLinear() Algorithm {
	return scatterAlong(linearBranches, Algorithm{
		Name:     "scatter/linear",
		Paper:    "ours",
		Summary:  "the root puts every block to its rank",
		Messages: "F(P-1) puts",
	})
}
