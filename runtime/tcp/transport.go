// Package tcp is the transport over TCP. A rank connects to another when it
// first puts something there; each connection carries one lane of one
// communicator in one direction and stays open as long as that. The goroutine that is inside a call reads and
// writes all of them itself, without blocking: there is no goroutine, no copy
// and no allocation per frame.
package tcp

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/runtime/internal/netpoll"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Transport is one rank's end of a communicator. Its methods follow the rules
// of [wire.Transport].
type Transport struct {
	rank, size  int
	local       int // ranks on this host
	id          [16]byte
	blobs       [][]byte
	dialTimeout time.Duration

	poller  *netpoll.Poller
	sources []source // by token; nil where free
	free    []int32  // tokens to be used again
	events  [netpoll.MaxBatch]netpoll.Event

	listener acceptor
	guests   []*inbound // connections that have not said which rank they come from
	peers    []peer
	dirty    []*outbound // have frames that have not been offered to the system
	pending  atomic.Bool // dirty is not empty; for Wait, which has no lock
	held     []*inbound
	failures []failure // found outside Poll, to be told by the next
	refusing []*peer   // refuse connections, but may have left in good order
	iov      vector
	turns    turns
	scratch  []byte // where dropped bodies go

	dialing sync.WaitGroup
	ctx     context.Context // ends the dials
	cancel  context.CancelFunc
	mu      sync.Mutex // guards dialed
	dialed  []dialed
	fresh   atomic.Bool // dialed is not empty

	found   foundEvents
	parting bool   // leaves in good order: see part
	parted  bool   // has told those who send to it
	last    uint64 // the operation that it takes part in last
	closed  bool
	stats   wire.Stats
}

var _ wire.Transport = (*Transport)(nil)

// source is a descriptor in the poller. ready does what can be done now and
// reports whether anything was sent or received.
type source interface {
	ready(t *Transport, s wire.Sink, read, write bool) bool
}

// newTransport takes listenFD over.
func newTransport(cfg *Config, tab *table, listenFD int) (*Transport, error) {
	p, err := netpoll.New()
	if err != nil {
		closeFD(listenFD)
		return nil, err
	}
	t := &Transport{
		rank: cfg.Rank, size: cfg.Size, id: tab.id, blobs: tab.blobs, dialTimeout: cfg.DialTimeout,
		poller: p, turns: turns{ask: inFlight, held: unacked, trip: leastTrip}, peers: make([]peer, cfg.Size), scratch: make([]byte, scratchSize),
		listener: acceptor{fd: listenFD, token: -1},
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	for rank := range t.peers {
		p := &t.peers[rank]
		p.reach(int(wire.Lanes) - 1)
		p.rank, p.addr, p.near = rank, tab.addrs[rank], sameHost(tab.addrs[rank], tab.addrs[cfg.Rank])
		if p.near {
			t.local++
		}
	}
	if listenFD >= 0 {
		if t.listener.token, err = t.watch(listenFD, &t.listener, true, false); err != nil {
			t.release()
			return nil, err
		}
	}
	return t, nil
}

// sameHost reports whether two listeners are on one host.
func sameHost(a, b string) bool {
	one, _, _ := net.SplitHostPort(a)
	other, _, _ := net.SplitHostPort(b)
	return one == other
}

// Rank returns this process's place in the communicator.
func (t *Transport) Rank() int { return t.rank }

// Size returns the number of ranks.
func (t *Transport) Size() int { return t.size }

// ID returns the communicator's identity, drawn by rank 0.
func (t *Transport) ID() [16]byte { return t.id }

// Blobs returns what the ranks have published in Config.Blob, by rank.
func (t *Transport) Blobs() [][]byte { return t.blobs }

// Caps says that there is no multicast.
func (t *Transport) Caps() wire.Caps { return wire.Caps{Local: t.local} }

// Stats returns the counters; it is called under the same lock as Poll.
func (t *Transport) Stats() wire.Stats { return t.stats }

// Wake ends the running Wait, or else the next one.
func (t *Transport) Wake() { t.poller.Wake() }

// Mcast loses every copy.
func (t *Transport) Mcast(f *wire.Frame) { discard(f) }

// Datagram loses every copy.
func (t *Transport) Datagram(_ int, f *wire.Frame) { discard(f) }

func discard(f *wire.Frame) {
	if f.Unsent != nil {
		*f.Unsent--
	}
}

// watch puts a descriptor into the poller.
func (t *Transport) watch(fd int, s source, read, write bool) (token int32, err error) {
	if n := len(t.free); n > 0 {
		token, t.free = t.free[n-1], t.free[:n-1]
	} else {
		token = int32(len(t.sources))
		t.sources = append(t.sources, nil)
	}
	if err := t.poller.Add(fd, token, read, write); err != nil {
		t.free = append(t.free, token)
		return -1, err
	}
	t.sources[token] = s
	return token, nil
}

// unwatch takes it out again. Its token may be used again at once: an event
// that is still on its way then causes one vain read.
func (t *Transport) unwatch(fd int, token int32) error {
	if token < 0 {
		return nil
	}
	t.sources[token] = nil
	t.free = append(t.free, token)
	return t.poller.Remove(fd)
}

// Watch lets a transport that is built on this one share its poller: Poll
// calls ready when fd can be read or written, and Wait ends then. It is watched
// for nothing at first. Close does not close fd.
func (t *Transport) Watch(fd int, ready func(read, write bool)) *Watched {
	return &Watched{t: t, fd: fd, token: -1, call: ready}
}

// Watched is a descriptor that Watch has added.
type Watched struct {
	t     *Transport
	fd    int
	token int32
	call  func(read, write bool)
}

// Modify changes what the descriptor is watched for; with neither it is not
// watched at all, not even for errors.
func (w *Watched) Modify(read, write bool) (err error) {
	switch {
	case !read && !write:
		if w.token >= 0 {
			err = w.t.unwatch(w.fd, w.token)
			w.token = -1
		}
	case w.token >= 0:
		err = w.t.poller.Modify(w.fd, w.token, read, write)
	default:
		w.token, err = w.t.watch(w.fd, w, read, write)
	}
	if err != nil {
		return fmt.Errorf("tcp: watch: %w", err)
	}
	return nil
}

func (w *Watched) ready(_ *Transport, _ wire.Sink, read, write bool) bool {
	w.call(read, write)
	return false
}
