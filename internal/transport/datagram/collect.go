package datagram

import (
	"sync/atomic"
	"time"
)

// If a link brings a datagram every 100 µs, a waiting rank wakes for each datagram, which takes
// several times as long as reading it. So while datagrams arrive, their socket may be left
// unwatched: Wait ends after a while, and the rank reads all datagrams that have collected. When
// none has arrived, the socket is watched again.

// collect is the state of multicasts that collect in an unwatched socket.
type collect struct {
	limit time.Duration // greatest time that datagrams may collect; 0: they do not collect
	on    atomic.Bool   // the socket is not watched; Wait reads this, too
	slept atomic.Bool   // a Wait has passed since datagrams arrived
}

// collecting is called after each read from the multicast socket; came says whether datagrams had
// arrived.
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
		c.on.Store(a.watch.Modify(true, false) != nil) // if this fails, the next read tries again
	}
}

// shorten returns how long to wait at most, if d is the limit otherwise: see atMost.
func (c *collect) shorten(d time.Duration) time.Duration { return atMost(d, c.limit, c.on.Load()) }
