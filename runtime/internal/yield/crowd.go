package yield

// Crowd is the waiting of a rank where there are more ranks than cores. Each of
// them yields whenever it finds nothing, and the system, to which all look
// busy, evens out seldom: for many operations most ranks may share one core.
// So a rank looks now and then whether it is on the core that is its own by its
// number, and moves its thread there if not. Where the system then takes it away
// again, because the core has other work, it tries less and less often.
type Crowd struct {
	// Index is the rank's number among those on this host.
	Index int

	left, every int // yields until the next look, and between looks
}

const (
	lookSoon   = 1 << 8 // yields: below a millisecond
	lookSeldom = 1 << 16
)

// Look is called before each yield.
func (c *Crowd) Look() {
	if c.left--; c.left < 0 {
		c.next(settle(c.Index))
	}
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
