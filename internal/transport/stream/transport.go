// Package stream implements the puts of transports: TCP connections. A rank connects to another
// rank when it first puts a frame there, unless that rank has connected to it. Each connection
// carries one lane of one communicator, in both directions, and stays open as long as that
// communicator. The goroutine inside a call reads and writes all connections itself, without
// blocking: there is no goroutine, no copy and no allocation per frame.
package stream

import (
	"net"
	goruntime "runtime"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet"
	"github.com/schedgen/schedgen/internal/transport/reactor"
	"github.com/schedgen/schedgen/internal/transport/seal"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Transport is one rank's end of a communicator. Its methods follow the rules of [wire.Transport].
type Transport struct {
	rank, size int
	host       []int // by rank: its host, named by the lowest rank that listens at the same address
	local      int   // ranks on this host
	sparse     bool  // Config.Sparse
	id         [16]byte
	session    *seal.Session
	clock      clock.Clock

	reactor  *reactor.Reactor
	peers    []peer
	dialer   *dialer
	listener acceptor
	spare    spare
	sender   sender
	receiver receiver
	ending   []*peer // peers whose end the sink does not know yet
	parting  parting
	closed   bool
	stats    wire.Stats
}

var _ wire.Transport = (*Transport)(nil)

// newTransport returns the transport of a meeting. It takes listenFD over.
func newTransport(cfg *Config, m *meet.Meeting, listenFD int) (*Transport, error) {
	r, err := reactor.New()
	if err != nil {
		closeFD(listenFD)
		return nil, err
	}
	t := &Transport{
		rank: cfg.Rank, size: cfg.Size, sparse: cfg.Sparse, id: m.ID, session: m.Session, clock: cfg.Clock,
		reactor: r, peers: make([]peer, cfg.Size), dialer: newDialer(cfg.Clock, cfg.DialTimeout),
		sender: sender{turns: turns{clock: cfg.Clock, ask: inFlight, unacked: unacked, trip: leastTrip}}, receiver: receiver{scratch: make([]byte, scratchSize)},
	}
	t.listener = acceptor{t: t, fd: listenFD, token: -1, others: cfg.Guests}
	t.host = hostsOf(m.Addrs)
	for rank := range t.peers {
		p := &t.peers[rank]
		p.reach(int(wire.Lanes) - 1)
		p.t, p.rank, p.addr, p.near = t, rank, m.Addrs[rank], t.host[rank] == t.host[cfg.Rank]
		if p.near {
			t.local++
		}
	}
	if t.local <= goruntime.NumCPU() {
		r.Alone()
	}
	if listenFD >= 0 {
		t.listener.token, err = t.reactor.Watch(listenFD, &t.listener, true, false)
		if err == nil {
			err = t.spare.reserve(listenFD, cfg.Size)
		}
		if err != nil {
			t.release()
			return nil, err
		}
	}
	return t, nil
}

// hostsOf returns the host of each rank, given the addresses of all listeners.
func hostsOf(addrs []string) []int {
	host, lowest := make([]int, len(addrs)), make(map[string]int)
	for rank, addr := range addrs {
		name, _, _ := net.SplitHostPort(addr)
		if _, known := lowest[name]; !known {
			lowest[name] = rank
		}
		host[rank] = lowest[name]
	}
	return host
}

// Rank returns this process's number in the communicator.
func (t *Transport) Rank() int { return t.rank }

// Size returns the number of ranks.
func (t *Transport) Size() int { return t.size }

// ID returns the communicator's identity, drawn by rank 0.
func (t *Transport) ID() [16]byte { return t.id }

// Reactor returns the reactor of the connections, for transports with further descriptors.
func (t *Transport) Reactor() *reactor.Reactor { return t.reactor }

// Caps returns the Caps, without multicast.
func (t *Transport) Caps() wire.Caps {
	return wire.Caps{Local: t.local, Host: t.host, Sealed: t.session.Mode().Sealed()}
}

// Stats returns the counters. The caller holds the lock of Poll.
func (t *Transport) Stats() wire.Stats { return t.stats }

// Wake ends the running Wait, or else the next one.
func (t *Transport) Wake() { t.reactor.Wake() }

// Mcast drops f.
func (t *Transport) Mcast(f *wire.Frame) { f.Release() }

// Datagram drops f.
func (t *Transport) Datagram(_ int, f *wire.Frame) { f.Release() }

// Windows implements [wire.Transport]: there are none.
func (t *Transport) Windows() wire.Windows { return nil }
