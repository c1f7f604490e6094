package compare

// goal returns the largest ratio that a cell should have, or 0 if there is no goal.
func goal(c cell) float64 {
	switch {
	case folds(c.op) && c.ranks >= 8 && c.wire == wireTCP && c.bytes <= 2<<10:
		return 0.5
	case folds(c.op) && c.ranks >= 8 && (c.wire == wireTCP || c.bytes >= 1<<20):
		return 0.7
	case folds(c.op) && c.ranks >= 8 && c.bytes <= 2<<10:
		return 0.6
	case folds(c.op):
		return 1
	case movesBlocks(c.op) && c.ranks >= 8 && c.bytes <= 2<<10:
		return 0.6
	case movesBlocks(c.op):
		return 1
	case c.wire == wireShm:
		return 1
	case c.op == opBcastBarrier:
		return 0 // over the network: the two other operations have goals
	case c.ranks < 8:
		return 1
	case c.bytes <= 2<<10:
		return 0.5
	}
	return 0.7
}

// missed reports whether the median over rounds misses the goal.
func (v *verdict) missed() bool {
	g := goal(v.cell)
	return g > 0 && v.ratio > g+0.005 // compare rounded values, as they are printed
}
