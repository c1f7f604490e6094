package grid

// A choice is worth a rule if it takes so much less than what the built-in rules choose, as a part
// of that. The search for parameters is within that of the best.
const minWin = 0.05

// A neighbour's choice is as good as the best if it takes at most so much more.
const alike = 0.03

// decision is what is chosen in a cell, and what the built-in rules would choose.
type decision struct {
	Choice
	how   How
	win   float64 // what it takes less than that, as a part
	below string  // the algorithm
}

// decide returns the choice of a cell: the first of near that is as good as the best, else the best;
// nil where none is better than that of the built-in rules, as far as intervals tell.
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

// against returns the decision for a candidate, nil unless it wins against the built-in rules.
func (c *Cell) against(of *Candidate) *decision {
	base := &c.Candidates[0]
	win := 1 - of.Time.Value/base.Time.Value
	if of == base || !(win >= minWin) || of.Time.High >= base.Time.Low {
		return nil
	}
	return &decision{of.Choice, c.How, win, base.Algorithm}
}
