package tcp

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/runtime/internal/netpoll"
	"github.com/schedgen/schedgen/runtime/wire"
)

// foundEvents are those that the last Wait has ended with: Poll serves them
// without asking the system again. Events repeat until they are served, so
// they may be lost or come late.
type foundEvents struct {
	mu sync.Mutex
	n  atomic.Int32
	ev [netpoll.MaxBatch]netpoll.Event
}

func (f *foundEvents) put(ev []netpoll.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n.Store(int32(copy(f.ev[:], ev)))
}

func (f *foundEvents) take(ev []netpoll.Event) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return copy(ev, f.ev[:f.n.Swap(0)])
}

// Wait parks until Poll may find something to do; see [wire.Transport].
func (t *Transport) Wait(d time.Duration) {
	if t.pending.Load() || t.fresh.Load() || t.listener.resume.Load() {
		return
	}
	var ev [netpoll.MaxBatch]netpoll.Event
	if n, err := t.poller.Wait(ev[:], t.turns.turnWait(d)); err == nil && n > 0 { // an error shows in Poll as well
		t.found.put(ev[:n])
	}
}

// Poll sends and receives what is possible now; see [wire.Transport].
func (t *Transport) Poll(s wire.Sink) bool {
	if t.closed {
		return false
	}
	moved := t.flushAll(s)
	if t.fresh.Load() {
		t.adopt(s)
	}
	if len(t.failures) > 0 {
		t.tellFailures(s)
	}
	if t.listener.resume.Load() {
		t.listener.wake(t)
	}
	if len(t.held) > 0 {
		moved = t.offerHeld(s) || moved
	}
	moved = t.serve(s) || moved
	if len(t.refusing) > 0 {
		t.judge(s)
	}
	return t.flushAll(s) || moved
}

// Flush sends what is queued, as Poll does, and receives nothing: for a
// transport that is built on this one and whose own arrivals cause puts.
func (t *Transport) Flush(s wire.Sink) bool { return !t.closed && t.flushAll(s) }

// serve lets every descriptor that is ready do its work.
func (t *Transport) serve(s wire.Sink) (moved bool) {
	n := 0
	if t.found.n.Load() > 0 {
		n = t.found.take(t.events[:])
	} else {
		var err error
		if n, err = t.poller.Poll(t.events[:]); err != nil {
			t.loseAll(s, err)
		}
	}
	for i := range n {
		ev := &t.events[i]
		if src := t.sources[ev.Token]; src != nil {
			moved = src.ready(t, s, ev.Read, ev.Write) || moved
		}
	}
	return moved
}

func (t *Transport) loseAll(s wire.Sink, err error) {
	for rank := range t.peers {
		if rank != t.rank {
			t.lose(&t.peers[rank], s, fmt.Errorf("tcp: %w", err))
		}
	}
}

// loseLater has the next Poll tell the sink.
func (t *Transport) loseLater(p *peer, err error) {
	t.failures = append(t.failures, failure{p, err})
	t.pending.Store(true)
}

func (t *Transport) tellFailures(s wire.Sink) {
	list := t.failures
	t.failures = nil
	for _, f := range list {
		t.lose(f.p, s, f.err)
	}
	t.pending.Store(len(t.dirty) > 0)
}
