package schedule

// Halving by distance doubling (R. Thakur, R. Rabenseifner and W. Gropp, 2005, §4.5). The vector is
// cut into p2 pieces. In round i the ranks whose numbers differ in bit i have the same pieces. Each
// puts half of them to the other and folds the other half. So every piece is folded by the tree of
// doubling, with the lower number's part on the left. Each round sends half as much as the one
// before.
//
// If the pieces are parts of a vector, the lower number keeps the lower half, so that each message
// is contiguous. If the pieces are blocks, a number keeps the blocks of the numbers that agree with
// it in bit i, so that each block ends at its own rank.

// halves returns the two halves of some pieces, the lower number's half first.
func (c *layer) halves(p parts) (lower, upper parts) {
	if p.count /= 2; c.kind == ofPairs {
		return parts{p.first, 2 * p.step, p.count}, parts{p.first + p.step, 2 * p.step, p.count}
	}
	return parts{p.first, 1, p.count}, parts{p.first + p.count, 1, p.count}
}

// split returns the half that a number keeps in the round of a bit, and the half that it gives
// away.
func (c *layer) split(p parts, number, bit int) (keeps, gives parts) {
	lower, upper := c.halves(p)
	if number&bit == 0 {
		return lower, upper
	}
	return upper, lower
}

// keptBefore returns the pieces that a number has before the round of a bit.
func (c *layer) keptBefore(number, bit int) parts {
	p := c.all()
	for b := 1; b < bit; b *= 2 {
		p, _ = c.split(p, number, b)
	}
	return p
}

// halve writes the rounds of a master that takes part. It returns the pieces whose results the
// master then has.
func (a *arena) halve(n *node, c *layer) parts {
	have, number := a.contributionOfPair(n, c), n.number(n.v)
	if n.hosts == 1 {
		return c.all()
	}
	a.hold(n, c, have)
	p, at, base := c.all(), 0, n.ofPair(n.v)
	for bit := 1; bit < c.pieces; bit *= 2 {
		keeps, gives := c.split(p, number, bit)
		with := n.numbered(number ^ bit)
		a.putParts(c, gives, n.master(with), n.ofPair(with), at)
		a.foldParts(c, keeps, base, at, number&bit != 0, 2*bit == c.pieces)
		p, at = keeps, at+2*c.size(keeps)
	}
	return p
}
