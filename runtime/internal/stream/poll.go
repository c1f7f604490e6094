package stream

import (
	"fmt"
	"time"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Wait parks until Poll may find something to do; see [wire.Transport].
func (t *Transport) Wait(d time.Duration) {
	if t.sender.pending.Load() || t.dialer.fresh.Load() || t.listener.resume.Load() {
		return
	}
	t.reactor.Wait(t.sender.turns.turnWait(d))
}

// Poll sends and receives what is possible now; see [wire.Transport].
func (t *Transport) Poll(s wire.Sink) bool {
	if t.closed {
		return false
	}
	moved := t.flushAll(s)
	if t.dialer.fresh.Load() {
		t.adopt(s)
	}
	if len(t.losses.failures) > 0 {
		t.tellFailures(s)
	}
	if t.listener.resume.Load() {
		t.listener.wake()
	}
	if len(t.receiver.held) > 0 {
		moved = t.offerHeld(s) || moved
	}
	served, err := t.reactor.Serve(s)
	if err != nil {
		t.loseAll(s, err)
	}
	moved = served || moved
	if len(t.losses.refusing) > 0 {
		t.judge(s)
	}
	return t.flushAll(s) || moved
}

// Flush sends what is queued, as Poll does, and receives nothing: for a
// transport that is built on this one and whose own arrivals cause puts.
func (t *Transport) Flush(s wire.Sink) bool { return !t.closed && t.flushAll(s) }

func (t *Transport) loseAll(s wire.Sink, err error) {
	for rank := range t.peers {
		if rank != t.rank {
			t.lose(&t.peers[rank], s, fmt.Errorf("tcp: %w", err))
		}
	}
}

// loseLater has the next Poll tell the sink.
func (t *Transport) loseLater(p *peer, err error) {
	t.losses.failures = append(t.losses.failures, failure{p, err})
	t.sender.pending.Store(true)
}

func (t *Transport) tellFailures(s wire.Sink) {
	list := t.losses.failures
	t.losses.failures = nil
	for _, f := range list {
		t.lose(f.p, s, f.err)
	}
	t.sender.pending.Store(len(t.sender.dirty) > 0)
}
