package contact

import (
	"errors"
	"net"
	"slices"
	"sync"
)

// Strangers are the connections that have not said hello, or are being told why they are turned
// away. Their number is limited, and Close ends all of them.
type Strangers struct {
	Most int // the greatest number; set it before the first one enters

	mu     sync.Mutex
	list   []net.Conn // the oldest first
	closed bool

	refused uint64
	last    error // the reason of the last refusal
}

// Enter adds conn. If there are too many, it closes the oldest to make room.
func (s *Strangers) Enter(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		conn.Close()
		return
	}
	if len(s.list) == s.Most {
		s.list[0].Close()
		s.list = slices.Delete(s.list, 0, 1)
		s.refused++
	}
	s.list = append(s.list, conn)
}

// Leave removes conn and reports whether it was still there; otherwise conn is closed.
func (s *Strangers) Leave(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.list, conn)
	if i < 0 {
		return false
	}
	s.list = slices.Delete(s.list, i, i+1)
	return true
}

// Refuse counts conn, which is still here, and records why it is refused. A connection that has hung
// up before it has said anything does not count.
func (s *Strangers) Refuse(conn net.Conn, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.list, conn) && !errors.Is(why, errLeft) {
		s.refused++
		s.last = why
	}
}

// Count returns the number of refusals, and the reason of the last one. It is nil if all have only
// made room for others.
func (s *Strangers) Count() (refused uint64, last error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused, s.last
}

// Close closes all strangers, and all that will come.
func (s *Strangers) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, conn := range s.list {
		conn.Close()
	}
	s.list = nil
}
