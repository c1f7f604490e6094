package schedule

// exscanSkip123 is the exclusive scan of J. L. Träff (2025) with skips 1, 2, 3, 6, 12 … . After two
// rounds a rank has the fold of the three ranks before it. From then on it puts this partial
// result, without its own contribution, because the rank 3 after it needs exactly that. A rank
// makes at most one fold a round.
func exscanSkip123() Algorithm {
	return Algorithm{
		Name:       "exscan/skip-123",
		Collective: Exscan,
		Paper:      "Träff 2025",
		Summary:    "folds of the ranks before go 1, 2, 3, 6, 12 … ranks on; one fold a round",
		Messages:   "⌈log2 (P-1) + log2 4/3⌉ rounds of at most F·P puts",
		Params:     unrootedParams(),
		RankOrder:  true,
		write:      prefix{exclusive: true, few: true}.write,
	}
}
