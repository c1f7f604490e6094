package schedule

// exscanDoubling is scan/doubling in which a rank keeps a second partial result, without its own
// contribution. That makes at most two folds a round.
func exscanDoubling() Algorithm {
	return Algorithm{
		Name:       "exscan/doubling",
		Collective: Exscan,
		Paper:      "Träff 2025",
		Summary:    "round i: the fold of the 2^i ranks up to itself to the rank 2^i after, which keeps one without its own as well",
		Messages:   "F(P⌈log2 P⌉ - 2^⌈log2 P⌉ + 1) puts",
		Params:     unrootedParams(),
		RankOrder:  true,
		Tree:       treeOfExscan,
		write:      prefix{exclusive: true}.write,
	}
}
