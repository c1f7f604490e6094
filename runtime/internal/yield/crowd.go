package yield

import "time"

// Crowd is the waiting of a rank where there are more ranks than cores. Each of
// them yields whenever it finds nothing, and the system, to which all look
// busy, evens out seldom: for many operations most ranks may share one core.
// So a rank looks now and then whether it is on the core that is its own by its
// number, and moves its thread there if not. Where others compete for the cores
// that is left to the system: then ranks are better off together. Where the
// system takes the thread away again, it is moved less and less often.
type Crowd struct {
	// Index is the rank's number among those on this host.
	Index int
	Now   func() time.Time // the clock

	left, every int       // yields until the next look, and between looks
	looked      time.Time // zero: not yet
}

const (
	lookSoon   = 1 << 8 // yields: below a millisecond
	lookSeldom = 1 << 16
	// slowYield is from when on a yield, on the average, has let others run
	// than ranks: they get a time slice each.
	slowYield = 300 * time.Microsecond
)

// Look is called before each yield.
func (c *Crowd) Look() {
	if c.left--; c.left < 0 {
		c.next(c.among(c.Now()) && goHome(c.Index))
	}
}

// among reports whether the rank has yielded to ranks alone since the last look.
func (c *Crowd) among(now time.Time) bool {
	last := c.looked
	c.looked = now
	return !last.IsZero() && now.Sub(last) < time.Duration(c.every)*slowYield
}

// next sets when to look again, after a look that had to move the thread or not.
func (c *Crowd) next(moved bool) {
	if moved {
		c.every = min(2*c.every, lookSeldom)
	} else {
		c.every /= 2
	}
	c.every = max(c.every, lookSoon)
	c.left = c.every
}
