package schedule

// gatherLinear lets every rank put its block to the root. No block crosses two links, so this is
// the best algorithm for long blocks. With short blocks the root receives P-1 messages one by one.
func gatherLinear() Algorithm {
	return gatherAlong(linearBranches, Algorithm{
		Name:     "gather/linear",
		Paper:    "ours",
		Summary:  "every rank puts its block to the root",
		Messages: "F(P-1) puts",
	})
}
