package rendezvous

import (
	"net"
	"slices"
	"sync"
)

// spareGuests are connections beyond the ranks' that may be at the door at once.
const spareGuests = 64

// guests are the connections that have not said whose they are, or are being told why
// they are turned away: so many at most, and no longer than until close.
type guests struct {
	most   int
	mu     sync.Mutex
	list   []net.Conn // the oldest first
	closed bool

	refused uint64
	last    error // why the last one was refused
}

// enter takes conn in. If there are too many, the one that has been here longest is
// closed to make room.
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

// leave takes conn out and reports whether it was still there: if not it is closed.
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

// refuse counts conn, which is still here, and why.
func (g *guests) refuse(conn net.Conn, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if slices.Contains(g.list, conn) {
		g.refused++
		g.last = why
	}
}

// count returns how many were refused, and why the last one was that said anything.
func (g *guests) count() (refused uint64, last error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused, g.last
}

// close closes the connections that are still here, and all that will come.
func (g *guests) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, conn := range g.list {
		conn.Close()
	}
	g.list = nil
}
