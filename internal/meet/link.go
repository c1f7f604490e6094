package meet

import (
	"net"
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/meet/internal/contact"
)

// link is a connection between rank 0 and another rank. Sending never waits for the reader, since the
// sending rank may be the one that must read first.
type link struct {
	conn net.Conn

	mu     sync.Mutex // guards the fields below
	queue  net.Buffers
	ending bool // only what is in the queue is still sent
	fresh  chan struct{}

	written chan struct{} // closed when nothing more is written
}

func newLink(conn net.Conn) *link {
	return &link{conn: conn, fresh: make(chan struct{}, 1), written: make(chan struct{})}
}

// send queues b, which must not change any more.
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

// finish sends b as the last message. The peer must read it and hang up within limit.
func (l *link) finish(b []byte, limit time.Duration) {
	l.add(b, true)
	l.conn.SetDeadline(time.Now().Add(limit))
}

// hangUp closes the connection at once.
func (l *link) hangUp() {
	l.conn.Close()
	l.add(nil, true)
}

// write writes queued messages, until finish or hangUp. An error also shows in a read.
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
			contact.CloseWrite(l.conn)
			return
		}
	}
}
