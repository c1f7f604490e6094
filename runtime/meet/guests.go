package meet

import (
	"net"
	"slices"
	"sync"
)

// spareGuests is how many connections beyond the ranks' may be at the door at once.
const spareGuests = 64

// guests are the connections that have not said hello, or are being told why they are turned away.
// Their number is limited, and close ends all of them.
type guests struct {
	most   int
	mu     sync.Mutex
	list   []net.Conn // the oldest first
	closed bool

	refused uint64
	last    error // the reason of the last refusal
}

// enter adds conn. If there are too many, it closes the oldest to make room.
func (g *guests) enter(conn net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		conn.Close()
		return
	}
	if len(g.list) == g.most {
		g.list[0].Close()
		g.list = slices.Delete(g.list, 0, 1)
		g.refused++
	}
	g.list = append(g.list, conn)
}

// leave removes conn and reports whether it was still there; otherwise conn is closed.
func (g *guests) leave(conn net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.list, conn)
	if i < 0 {
		return false
	}
	g.list = slices.Delete(g.list, i, i+1)
	return true
}

// refuse counts conn, which is still here, and records why it is refused.
func (g *guests) refuse(conn net.Conn, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.Contains(g.list, conn) {
		g.refused++
		g.last = why
	}
}

// count returns the number of refusals, and the reason of the last one of a connection that had
// said something.
func (g *guests) count() (refused uint64, last error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused, g.last
}

// close closes all guests, and all that will come.
func (g *guests) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, conn := range g.list {
		conn.Close()
	}
	g.list = nil
}
