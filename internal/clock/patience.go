package clock

import "time"

// Patience is how long to wait for a quantity to become 0: as long as it decreases at least once
// every Limit. Set Limit; the other fields start at zero.
type Patience struct {
	Limit time.Duration
	since time.Time // when the quantity last decreased
	left  int
	begun bool
}

// Rest returns how long to wait from now if left remains. The result is not positive if left has
// not decreased for Limit.
func (p *Patience) Rest(now time.Time, left int) time.Duration {
	if !p.begun || left < p.left {
		p.begun, p.since = true, now
	}
	p.left = left
	return p.Limit - now.Sub(p.since)
}
