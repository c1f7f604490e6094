package stream

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/transport/reactor"
	"github.com/schedgen/schedgen/internal/transport/tcpopt"
	"github.com/schedgen/schedgen/runtime/wire"
)

// conn is a connection with a peer, for one lane. Each rank speaks in one half of it, if it has
// something to say, and ends its half independently of the other: see halves.go.
type conn struct {
	t    *Transport
	p    *peer // nil until it has named its rank
	lane int   // index in peer.out and peer.in
	in   inbound
	out  outbound

	fd            int // -1 until connected, and again after closing
	closed        bool
	watched       *reactor.Descriptor // nil until connected
	reads, writes bool                // what it is watched for
}

func (t *Transport) newConn() *conn {
	c := &conn{t: t, fd: -1}
	c.in.conn, c.out.conn = c, c
	return c
}

// connect takes over a descriptor on which something may have arrived.
func (c *conn) connect(fd int) error {
	if !c.t.sparse && !within(fd) {
		tcpopt.Usual(fd)
	}
	c.fd, c.watched = fd, c.t.reactor.Descriptor(fd, c)
	if c.p != nil {
		c.watched.Eager()
	}
	return c.watch(true, c.writes)
}

// watch changes what the connection is watched for.
func (c *conn) watch(read, write bool) error {
	if c.reads == read && c.writes == write || c.watched == nil {
		return nil
	}
	c.reads, c.writes = read, write
	return c.watched.Modify(read, write)
}

// rewatch is watch for a connection with a known peer. If it fails, the peer is lost.
func (c *conn) rewatch(read, write bool) bool {
	if err := c.watch(read, write); err != nil {
		c.t.lose(c.p, fmt.Errorf("tcp: connection to rank %d: %w", c.p.rank, err))
		return false
	}
	return true
}

// Ready implements [reactor.Source].
func (c *conn) Ready(s wire.Sink, read, write bool) (moved bool) {
	if read && c.reads {
		moved = c.in.ready(s)
	}
	if write && c.writes {
		moved = c.t.flush(&c.out, s) || moved
	}
	return moved
}

// closeConn closes a connection and drops its queue.
func (t *Transport) closeConn(c *conn) {
	if c.closed {
		return
	}
	c.closed = true
	t.dropOut(&c.out)
	if c.p != nil {
		if c.p.in[c.lane] == &c.in {
			c.p.in[c.lane] = nil
		}
		c.p.conns = slices.DeleteFunc(c.p.conns, func(other *conn) bool { return other == c })
	}
	_ = c.watch(false, false) // the system forgets closed descriptors
	closeFD(c.fd)
	c.fd = -1
}

// eachConn calls f for every connection with a peer; f may close it.
func (t *Transport) eachConn(f func(*conn)) {
	for rank := range t.peers {
		t.peers[rank].eachConn(f)
	}
}

func (p *peer) eachConn(f func(*conn)) {
	for _, c := range slices.Clone(p.conns) {
		f(c)
	}
}
