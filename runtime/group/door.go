package group

import (
	"net"
	"sync"
	"time"
)

// door is where the other members connect when this member is the first of a view. It stays open,
// so that a member that comes before this member is ready waits in the system's queue. Each meeting
// has a turn at it.
type door struct{ l *net.TCPListener }

func openDoor(addr string) (*door, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &door{l.(*net.TCPListener)}, nil
}

func (d *door) close() { d.l.Close() }

// turn returns a listener that does not close the door. The previous one must be closed.
func (d *door) turn() net.Listener {
	d.l.SetDeadline(time.Time{})
	return &turn{door: d}
}

// turn is the listener of one meeting.
type turn struct {
	*door
	mu     sync.Mutex
	closed bool
}

func (t *turn) Accept() (net.Conn, error) {
	conn, err := t.l.Accept()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		return conn, err
	}
	if err == nil {
		conn.Close()
	}
	return nil, net.ErrClosed
}

// longAgo, as a deadline, ends a blocked Accept at once.
var longAgo = time.Unix(1, 0)

// Close ends the turn.
func (t *turn) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.closed = true
		return t.l.SetDeadline(longAgo)
	}
	return nil
}

func (t *turn) Addr() net.Addr { return t.l.Addr() }
