package stream

import (
	"fmt"
	"time"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Wait parks until Poll may find something to do; see [wire.Transport].
func (t *Transport) Wait(d time.Duration) {
	if t.sender.pending.Load() || t.dialer.fresh.Load() || t.listener.resume.Load() || t.listener.untidy.Load() {
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
		t.adopt()
	}
	if t.listener.resume.Load() {
		t.listener.wake()
	}
	if t.listener.untidy.Load() {
		t.listener.tidyUp()
	}
	if len(t.receiver.held) > 0 {
		moved = t.offerHeld(s) || moved
	}
	served, err := t.reactor.Serve(s)
	if err != nil {
		t.fault(fmt.Errorf("tcp: %w", err))
	}
	moved = served || moved
	if len(t.ending) > 0 {
		moved = t.tellEnds(s) || moved
	}
	return t.flushAll(s) || moved
}

// Flush implements [wire.Flusher].
func (t *Transport) Flush(s wire.Sink) bool { return !t.closed && t.flushAll(s) }
