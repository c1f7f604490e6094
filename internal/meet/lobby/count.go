package lobby

import (
	"errors"
	"sync"
)

// ErrNobody is wrapped by the error of Host when it waits for no more guests and none has come.
var ErrNobody = errors.New("nobody has come")

// Count is how many guests a host waits for. Any goroutine may change it at any time.
type Count struct {
	mu      sync.Mutex
	n       int
	changed chan struct{} // closed with each change
}

// NewCount returns a count of n guests. With 0, the guests that have come are enough.
func NewCount(n int) *Count { return &Count{n: n, changed: make(chan struct{})} }

// Less lowers the count by one guest, which will not come. If enough guests have come then, they
// get places.
func (c *Count) Less() {
	c.change(func(n int) int { return max(n-1, 0) })
}

// Stop sets the count to 0: the guests that have come get places.
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

// current returns the count, and a channel that is closed when it changes.
func (c *Count) current() (int, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n, c.changed
}
