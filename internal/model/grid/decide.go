package grid

// minWin is the smallest gain that makes a choice worth a rule: how much less time it takes than
// the built-in choice, as a part of that choice's time. The parameter search finds times within
// this part of the best.
const minWin = 0.05

// alike bounds a neighbour's choice that counts as equally good: it takes at most this part more
// time than the best.
const alike = 0.03

// decision is the choice for a cell, and what it is compared with.
type decision struct {
	Choice
	how   How
	win   float64 // how much less time it takes than the built-in choice, as a part of its time
	below string  // the algorithm of the built-in choice
}

// decide returns the choice for a cell: the first of near that is as good as the best, or else the
// best. It returns nil if no choice is better than the built-in choice, as far as intervals show.
func (c *Cell) decide(near []Choice) *decision {
	if c.How == Unknown || len(c.Candidates) == 0 {
		return nil
	}
	best := &c.Candidates[0]
	for i := range c.Candidates {
		if c.Candidates[i].Time.Value < best.Time.Value {
			best = &c.Candidates[i]
		}
	}
	for _, n := range near {
		for i := range c.Candidates {
			other := &c.Candidates[i]
			same := other.Time.Value <= best.Time.Value*(1+alike) || other.Time.Low <= best.Time.High
			if other.Choice == n && same {
				if d := c.against(other); d != nil {
					return d
				}
			}
		}
	}
	return c.against(best)
}

// against returns the decision for a candidate, or nil unless it beats the built-in choice.
func (c *Cell) against(of *Candidate) *decision {
	base := &c.Candidates[0]
	win := 1 - of.Time.Value/base.Time.Value
	if of == base || !(win >= minWin) || of.Time.High >= base.Time.Low {
		return nil
	}
	return &decision{of.Choice, c.How, win, base.Algorithm}
}
