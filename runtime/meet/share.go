package meet

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Share lets one listener serve two purposes: ranks come in at its door while they meet, and
// connect there afterwards. So one open port of a host is enough.
//
// Ranks that have already met may connect while this one still meets. The first bytes distinguish
// their connections from those of ranks that come to meet.
type Share struct {
	Later [4]byte // first bytes of later connections
}

// Early is a connection for later that has arrived while ranks met, with the bytes already read.
type Early struct {
	Conn net.Conn
	Read []byte
}

// earlies are the connections for later. Their number is limited; the oldest make room.
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

// take returns and removes them.
func (e *earlies) take() []Early {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.list
	e.list = nil
	return list
}

// forLater reads the first bytes of a connection and reports whether it is for later; it then keeps
// the connection. Otherwise it returns a connection that reads these bytes again. It also keeps one
// that has sent too little when all have met.
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

// Begun returns a connection that first reads read, bytes that were already read from conn.
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

// shut closes the door. A shared listener stays open.
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
