package clock

import "time"

// Patience is how long to wait for something that gets less: as long as it does, and
// then for Limit. The zero value but for Limit is ready to be used.
type Patience struct {
	Limit time.Duration
	since time.Time // when left became what it is
	left  int
	begun bool
}

// Rest returns how long to wait from now on if so much is left; it is not positive
// when that has not become less for Limit.
func (p *Patience) Rest(now time.Time, left int) time.Duration {
	if !p.begun || left < p.left {
		p.begun, p.since = true, now
	}
	p.left = left
	return p.Limit - now.Sub(p.since)
}
