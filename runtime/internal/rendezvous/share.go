package rendezvous

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Share has one listener do for all: ranks come in at its door while they meet, and connect there afterwards. So one
// open port of a host is enough.
//
// Ranks that have met earlier than this one may connect while this one still meets: what they begin with tells them from those
// that come to meet.
type Share struct {
	Later [4]byte // what connections for afterwards begin with
}

// Early is a connection for afterwards that has come while ranks met, and what was read of it.
type Early struct {
	Conn net.Conn
	Read []byte
}

// earlies are the connections for afterwards: so many at most, of which the oldest make room.
type earlies struct {
	mu   sync.Mutex
	list []Early
	most int
}

func (e *earlies) add(conn net.Conn, read []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.list) == e.most {
		e.list[0].Conn.Close()
		e.list = e.list[1:]
	}
	e.list = append(e.list, Early{conn, read})
}

// take returns them.
func (e *earlies) take() []Early {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.list
	e.list = nil
	return list
}

// forLater reads what a connection begins with and reports whether it is for afterwards, where it is kept then. If
// not it returns what to read it by. One that has said too little when all have met is kept, too.
func (n *node) forLater(conn net.Conn) (net.Conn, bool) {
	if n.cfg.Share == nil {
		return conn, false
	}
	var b [4]byte
	got, err := io.ReadFull(conn, b[:])
	if err != nil && n.over.Err() == nil || err == nil && b != n.cfg.Share.Later {
		return Begun(conn, b[:got]), false
	}
	if n.guests.leave(conn) {
		conn.SetDeadline(time.Time{})
		n.early.add(conn, b[:got])
	}
	return nil, true
}

// Begun returns a connection of which something was read already, that reads this first.
func Begun(conn net.Conn, read []byte) net.Conn { return &begun{conn, read} }

type begun struct {
	net.Conn
	read []byte
}

func (c *begun) Read(b []byte) (int, error) {
	if len(c.read) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.read)
	c.read = c.read[n:]
	return n, nil
}

// CloseWrite says that nothing more will be sent.
func (c *begun) CloseWrite() error {
	closeWrite(c.Conn)
	return nil
}

// shut has nobody come in any more. A listener that is shared stays open.
func (n *node) shut() error {
	if n.door == nil {
		n.wg.Wait()
		return nil
	}
	if n.cfg.Share == nil {
		n.door.Close()
		n.wg.Wait()
		return nil
	}
	d, ok := n.door.(deadliner)
	if !ok {
		return fmt.Errorf("%T cannot be told to stop accepting", n.door)
	}
	if err := d.SetDeadline(longAgo); err != nil {
		return fmt.Errorf("stop accepting: %w", err)
	}
	n.wg.Wait()
	return d.SetDeadline(time.Time{})
}
