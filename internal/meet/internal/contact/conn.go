package contact

import (
	"fmt"
	"io"
	"net"
	"time"

	"github.com/schedgen/schedgen/internal/transport/tcpopt"
)

const (
	// HelloTime is how long a connection may take to say hello. One that takes longer is a
	// stranger's.
	HelloTime = 5 * time.Second
	// FarewellTime is the greatest time for telling a process the reason why it is turned away, or
	// why there is no communicator.
	FarewellTime = time.Second
)

// LongAgo, as a deadline, ends a blocked read, write or accept at once.
var LongAgo = time.Unix(1, 0)

// After a loss, a connection could be silent for up to minutes, and no message follows the last
// one: see tcpopt.
//
// A host that vanishes says nothing. While ranks meet, most connections are silent, so the systems
// probe each other, and end a connection if the other system does not answer.
const (
	AliveIdle     = 5 * time.Second
	AliveInterval = 2 * time.Second
	AliveCount    = 5
)

// WatchOver makes the system notice that the peer has vanished.
func WatchOver(conn net.Conn) {
	if c := TCPConn(conn); c != nil {
		tcpopt.Of(c, tcpopt.Hurry)
		// If this fails, the connection is broken, or the system has its own times.
		_ = c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: AliveIdle, Interval: AliveInterval, Count: AliveCount})
	}
}

// TCPConn returns the system's connection, or nil in tests without one.
func TCPConn(conn net.Conn) *net.TCPConn {
	if b, ok := conn.(*begun); ok {
		conn = b.Conn
	}
	c, _ := conn.(*net.TCPConn)
	return c
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
	CloseWrite(c.Conn)
	return nil
}

// CloseWrite says that nothing more will be sent.
func CloseWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
}

// Farewell sends a last status. It reads what is left, so that closing does not reset the
// connection and destroy the status on its way.
func Farewell(conn net.Conn, why string) {
	conn.SetDeadline(time.Now().Add(FarewellTime))
	if _, err := conn.Write(AppendStatus(nil, why)); err == nil {
		CloseWrite(conn)
		io.Copy(io.Discard, io.LimitReader(conn, 1<<16))
	}
}

// Deadliner is a listener that can stop accepting for a while.
type Deadliner interface{ SetDeadline(time.Time) error }

// StopAccepting makes accepting end, which wait waits for, and leaves the listener as it was.
func StopAccepting(l net.Listener, wait func()) error {
	d, ok := l.(Deadliner)
	if !ok {
		return fmt.Errorf("this listener cannot stop accepting: %T", l)
	}
	if err := d.SetDeadline(LongAgo); err != nil {
		return fmt.Errorf("stop accepting: %w", err)
	}
	wait()
	return d.SetDeadline(time.Time{})
}
