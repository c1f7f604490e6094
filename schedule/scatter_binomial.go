package schedule

// scatterBinomial descends the binomial tree of bcast/binomial, whose sub-trees are ranks that
// follow each other; it is the first half of the broadcast of R. Thakur et al. (2005, §4.2). The
// largest bundle goes first, since it has the longest way still to go. The root sends ⌈log2 P⌉
// messages, and all blocks but its own, as in any scatter.
func scatterBinomial() Algorithm {
	return scatterAlong(binomialBranches, Algorithm{
		Name:     "scatter/binomial",
		Paper:    "Thakur 2005 §4.2",
		Summary:  "binomial tree: every rank gets the blocks of its sub-tree in one message",
		Messages: "F(P-1) puts",
		relays:   true,
	})
}
