package rendezvous

import (
	"errors"
	"sync"
)

// ErrNobody: a host waits for nobody any more, and nobody is there.
var ErrNobody = errors.New("nobody has come")

// Count is for how many guests a host waits. It may be changed at any time, by any goroutine.
type Count struct {
	mu      sync.Mutex
	n       int
	changed chan struct{} // closed with each change
}

// NewCount returns a count of n guests.
func NewCount(n int) *Count { return &Count{n: n, changed: make(chan struct{})} }

// Less has the host wait for one guest less: it is known that one will not come. Those that have come are served
// if they are as many as are left.
func (c *Count) Less() {
	c.change(func(n int) int { return max(n-1, 0) })
}

// Stop has the host wait for nobody any more: those that have come are served.
func (c *Count) Stop() {
	c.change(func(int) int { return 0 })
}

func (c *Count) change(to func(int) int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n = to(c.n)
	close(c.changed)
	c.changed = make(chan struct{})
}

// now returns the number, and a channel that is closed when it changes.
func (c *Count) now() (int, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n, c.changed
}
