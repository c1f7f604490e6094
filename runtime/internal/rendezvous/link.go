package rendezvous

import (
	"net"
	"sync"
	"time"
)

// link is a connection with the rank above or below, or with one that asks its way.
// What is sent waits for no reader: the rank that sends may be the one that must read first.
type link struct {
	conn net.Conn

	mu     sync.Mutex // guards what is below
	queue  net.Buffers
	ending bool // nothing more is sent than is in the queue
	fresh  chan struct{}

	written chan struct{} // closed when nothing more is written
}

func newLink(conn net.Conn) *link {
	return &link{conn: conn, fresh: make(chan struct{}, 1), written: make(chan struct{})}
}

// send puts b, which is not changed any more, behind what waits to be written.
func (l *link) send(b []byte) { l.add(b, false) }

func (l *link) add(b []byte, last bool) {
	l.mu.Lock()
	if !l.ending {
		l.queue = append(l.queue, b)
		l.ending = last
	}
	l.mu.Unlock()
	select {
	case l.fresh <- struct{}{}:
	default:
	}
}

// finish has b be the last that is sent. The peer is to read it and to hang up within
// limit.
func (l *link) finish(b []byte, limit time.Duration) {
	l.add(b, true)
	l.conn.SetDeadline(time.Now().Add(limit))
}

// hangUp ends it at once.
func (l *link) hangUp() {
	l.conn.Close()
	l.add(nil, true)
}

// write writes what is sent, until finish or hangUp. An error shows in what is read, too.
func (l *link) write() {
	defer close(l.written)
	for range l.fresh {
		l.mu.Lock()
		queue, last := l.queue, l.ending
		l.queue = nil
		l.mu.Unlock()
		if _, err := queue.WriteTo(l.conn); err != nil {
			return
		}
		if last {
			closeWrite(l.conn)
			return
		}
	}
}

// closeWrite says that nothing more will be sent.
func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
}
