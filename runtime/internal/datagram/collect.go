package datagram

import (
	"sync/atomic"
	"time"
)

// Where a link brings a datagram each 100 µs, a rank that waits is woken for each, which takes several times as long as to
// read it. So while they come their socket may be left unwatched: Wait ends after a while, and the rank reads what has
// collected. When nothing has the socket is watched again.

// collect is what is multicast while nobody watches for it.
type collect struct {
	limit time.Duration // for which datagrams may collect; 0: none may
	on    atomic.Bool   // the socket is not watched; Wait asks, too
	slept atomic.Bool   // a Wait has passed since datagrams have come
}

// collecting is called after a read from the socket of what is multicast, which has brought something or not.
func (a *arrival) collecting(came bool) {
	c := &a.collect
	switch on := c.on.Load(); {
	case c.limit == 0:
	case came:
		c.slept.Store(false)
		if !on {
			c.on.Store(a.watch.Modify(false, false) == nil)
		}
	case on && c.slept.Load():
		c.on.Store(a.watch.Modify(true, false) != nil) // if it fails the next look may do
	}
}

// shorten returns for how long to wait at most, if d is the limit otherwise: see atMost.
func (c *collect) shorten(d time.Duration) time.Duration { return atMost(d, c.limit, c.on.Load()) }
