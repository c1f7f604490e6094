package yield

import "time"

// Crowd makes a rank wait where there are more ranks than cores. Each rank yields whenever it finds
// nothing. All ranks look busy to the system, so it seldom balances them: most ranks may share one
// core for many operations. So a rank checks now and then whether it is on the core that its number
// selects, and moves its thread there if not. If other processes compete for the cores, it leaves
// this to the system, since ranks are then better off together. If the system moves the thread away
// again, the rank moves it less and less often.
type Crowd struct {
	// Index is the rank's number on this host.
	Index int
	Now   func() time.Time // the clock

	left, every int       // yields until the next check, and between checks
	looked      time.Time // last check; zero: none yet
}

const (
	lookSoon   = 1 << 8 // yields: below a millisecond
	lookSeldom = 1 << 16
	// slowYield is the least average duration of yields that have let other processes than ranks
	// run: each of these processes gets a time slice.
	slowYield = 300 * time.Microsecond
)

// Look is called before each yield.
func (c *Crowd) Look() {
	if c.left--; c.left < 0 {
		c.next(c.among(c.Now()) && goHome(c.Index))
	}
}

// among reports whether the rank has yielded only to ranks since the last check.
func (c *Crowd) among(now time.Time) bool {
	last := c.looked
	c.looked = now
	return !last.IsZero() && now.Sub(last) < time.Duration(c.every)*slowYield
}

// next sets when to check again. moved says whether this check had to move the thread.
func (c *Crowd) next(moved bool) {
	if moved {
		c.every = min(2*c.every, lookSeldom)
	} else {
		c.every /= 2
	}
	c.every = max(c.every, lookSoon)
	c.left = c.every
}
