package schedule

// gatherBinomial climbs the binomial tree of bcast/binomial, in which each sub-tree consists of
// consecutive ranks. The root gets ⌈log2 P⌉ messages with all blocks. A block crosses as many links
// as its rank's number, counted from the root, has bits set.
func gatherBinomial() Algorithm {
	return gatherAlong(binomialBranches, Algorithm{
		Name:     "gather/binomial",
		Paper:    "Thakur 2005 §4.2",
		Summary:  "binomial tree: every rank puts the blocks of its sub-tree to its parent in one message",
		Messages: "F(P-1) puts",
		relays:   true,
	})
}
