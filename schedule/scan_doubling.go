package schedule

// scanDoubling is a scan in rounds. In round i a rank puts the fold of the 2^i ranks up to itself
// to the rank 2^i after it. That rank folds it on the left of its own.
func scanDoubling() Algorithm {
	return Algorithm{
		Name:       "scan/doubling",
		Collective: Scan,
		Paper:      "Träff 2025",
		Summary:    "round i: the fold of the 2^i ranks up to itself to the rank 2^i after",
		Messages:   "F(P⌈log2 P⌉ - 2^⌈log2 P⌉ + 1) puts",
		Params:     unrootedParams(),
		RankOrder:  true,
		Tree:       treeOfScan,
		write:      prefix{}.write,
	}
}
