package mem

import (
	"math/rand/v2"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Transport is one rank's end of the network.
type Transport struct {
	rank    int
	id      [16]byte
	o       *Options
	all     []*Transport
	in      inbox
	signal  chan struct{}
	random  *rand.Rand
	out     lanes[ring[wire.Frame]] // frames that have not moved into their receivers' lanes yet
	pending []key                   // keys of out that are not empty
	left    []bool                  // ranks that have closed
	held    ring[entry]             // datagrams that the sink holds
	timer   clock.Timer             // ends Wait; nil before the first use
	cur     entry                   // scratch: the frame that the sink looks at
	polled  int64                   // time up to which Poll has taken arrivals; guarded by in.mu
	sets    windowSets
	groups  [1 << 8]*group // by communicator: its group; nil: all ranks
	names   *rand.Rand     // source of group names
	stats   wire.Stats
	closed  bool
}

var _ wire.Transport = (*Transport)(nil)

func newTransport(rank int, id [16]byte, o *Options, all []*Transport) *Transport {
	t := &Transport{
		rank: rank, id: id, o: o, all: all,
		signal: make(chan struct{}, 1),
		random: rand.New(rand.NewPCG(o.Seed, uint64(rank)+1)),
		names:  rand.New(rand.NewPCG(o.Seed^0x9e37, uint64(rank)+1)),
		left:   make([]bool, len(all)),
	}
	t.out.peers, t.in.lanes.peers = len(all), len(all)
	if o.Windows {
		t.sets.first = t.openFirst(len(all))
	}
	return t
}

// Rank implements [wire.Transport].
func (t *Transport) Rank() int { return t.rank }

// Size implements [wire.Transport].
func (t *Transport) Size() int { return len(t.all) }

// ID implements [wire.Transport].
func (t *Transport) ID() [16]byte { return t.id }

// Caps implements [wire.Transport].
func (t *Transport) Caps() wire.Caps {
	local := len(t.all)
	if len(t.o.Rates) > 0 {
		local = 1
	}
	if t.o.NoMulticast {
		return wire.Caps{Local: local}
	}
	return wire.Caps{Multicast: true, Direct: true, Datagram: t.o.Datagram, Room: t.o.Queue * t.o.Datagram, Local: local}
}

// Stats implements [wire.Transport].
func (t *Transport) Stats() wire.Stats {
	s := t.stats
	s.MemoryBytes = s.PutBytes
	return s
}

// Wake implements [wire.Transport].
func (t *Transport) Wake() {
	select {
	case t.signal <- struct{}{}:
	default:
	}
}

// Wait implements [wire.Transport].
func (t *Transport) Wait(d time.Duration) {
	if next, ok := t.nextArrival(); ok && (d < 0 || next < d) {
		d = next
	}
	if d == 0 {
		return
	}
	if d > 0 {
		t.alarm(d)
		defer t.timer.Stop()
	}
	<-t.signal
}

// alarm ends Wait after d. One timer serves all Waits, since only one runs at a time.
func (t *Transport) alarm(d time.Duration) {
	if t.timer == nil {
		t.timer = t.o.Clock.AfterFunc(d, t.Wake)
		return
	}
	t.timer.Reset(d)
}

// nextArrival returns how long the first frame under way still takes.
func (t *Transport) nextArrival() (d time.Duration, ok bool) {
	if !t.o.slow() {
		return 0, false
	}
	t.in.mu.Lock()
	defer t.in.mu.Unlock()
	now := t.o.Clock.Now().UnixNano()
	// A frame that arrived before the last Poll and is still there is held. Only a change at this
	// rank releases it, and a change comes with a Poll.
	sooner := func(e *entry) {
		left := max(time.Duration(e.ready-now), 0)
		if e.ready > t.polled && (!ok || left < d) {
			d, ok = left, true
		}
	}
	for _, k := range t.in.ready {
		sooner(t.in.lanes.at(k).entries.at(0))
	}
	for i := range t.in.grams.n {
		sooner(t.in.grams.at(i))
	}
	return d, ok
}

// arrival draws the arrival time of something sent now.
func (t *Transport) arrival() int64 {
	if !t.o.slow() {
		return 0
	}
	return t.o.Clock.Now().Add(time.Duration(t.random.Int64N(int64(t.o.Delay) + 1))).UnixNano()
}

// putArrival is arrival for a put, which may be sent again.
func (t *Transport) putArrival() int64 {
	if t.o.Resent > 0 && t.random.Float64() < t.o.Resent {
		return t.arrival() + int64(t.o.ResendAfter)
	}
	return t.arrival()
}

// Close implements [wire.Transport].
func (t *Transport) Close(bye bool, linger time.Duration) error {
	if t.closed {
		return nil
	}
	t.stopTaking()
	patience := clock.Patience{Limit: linger}
	for bye && len(t.pending) > 0 {
		moved := t.flush()
		rest := patience.Rest(t.o.Clock.Now(), t.queued())
		if rest <= 0 {
			break
		}
		if !moved {
			t.Wait(rest)
		}
	}
	t.closed = true
	t.closeSets()
	for r, peer := range t.all {
		if r == t.rank {
			continue
		}
		peer.in.mu.Lock()
		peer.in.notes = append(peer.in.notes, note{rank: t.rank, bye: bye})
		peer.in.mu.Unlock()
		peer.Wake()
	}
	return nil
}

// stopTaking drops frames that have arrived or will arrive. Ranks that close at the same time owe
// no answers, and must not wait for room here.
func (t *Transport) stopTaking() {
	t.in.mu.Lock()
	t.in.closed = true
	t.in.ready, t.in.grams = nil, ring[entry]{}
	t.in.mu.Unlock()
	for _, peer := range t.all {
		peer.Wake()
	}
}
