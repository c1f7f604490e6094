package schedule

// scatterBinomial descends the binomial tree of bcast/binomial, in which each sub-tree consists of
// consecutive ranks. It is the first half of the broadcast of R. Thakur et al. (2005, §4.2). The
// largest bundle goes first, because it has the longest way to go. The root sends ⌈log2 P⌉ messages
// with all blocks but its own.
func scatterBinomial() Algorithm {
	return scatterAlong(binomialBranches, Algorithm{
		Name:     "scatter/binomial",
		Paper:    "Thakur 2005 §4.2",
		Summary:  "binomial tree: every rank gets the blocks of its sub-tree in one message",
		Messages: "F(P-1) puts",
		relays:   true,
	})
}
