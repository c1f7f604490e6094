package schedule

// gatherLinear has every rank put its block to the root. No block goes over two links, so it is the
// best there is for long blocks; of short ones the root takes in P-1 messages one by one.
func gatherLinear() Algorithm {
	return gatherAlong(linearBranches, Algorithm{
		Name:     "gather/linear",
		Paper:    "ours",
		Summary:  "every rank puts its block to the root",
		Messages: "F(P-1) puts",
	})
}
