//go:build linux

package segment

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/schedgen/schedgen/runtime/wire"
)

// peer is the state that this rank keeps about another rank.
type peer struct {
	rank    int
	pid     uint32
	start   uint64 // start time of its process
	bell    *bellLine
	line    *rankLine
	in      [wire.Lanes]inbound
	out     [wire.Lanes]outbound
	more    *further // lanes of further communicators; nil: there were none
	changes uint32   // the peer's count of opened and closed communicators at the last check
	cast    reader
	failed  error // why the peer is lost; the next Poll reports it
	dead    bool  // its process has ended
	gone    bool  // it has left or is lost
}

// Reasons for the loss of a rank.
var (
	errClosed = errors.New("it closed its end without a goodbye")
	errDied   = errors.New("its process has ended without a goodbye")
	errLate   = errors.New("it closed its end before everything was sent")
)

// loseLater makes the next Poll report that p is lost.
func (t *Transport) loseLater(p *peer, err error) {
	if p.failed == nil {
		p.failed = err
		t.again(p.rank)
	}
}

// fault makes the next Poll report that this rank cannot go on, whatever the others do.
func (t *Transport) fault(err error) {
	if t.failed == nil {
		t.failed = err
		t.again(t.rank)
	}
}

// lose reports to s that p is lost.
func (t *Transport) lose(p *peer, err error, s wire.Sink) {
	if !p.gone {
		t.forget(p)
		s.Ended(p.rank, wire.Broken, fmt.Errorf("shm: %w", err))
	}
}

// forget drops frames queued for p, and everything that p sends from now on.
func (t *Transport) forget(p *peer) {
	p.gone = true
	p.eachOut(func(o *outbound) {
		o.cut, o.offset = false, 0
		o.queue.clear()
	})
}

// end reports to s how p has ended, if it has. state is p's state from before its lanes were read,
// so everything that p sent before its end has been seen.
func (t *Transport) end(p *peer, state uint32, s wire.Sink) {
	switch {
	case p.gone:
	case p.failed != nil:
		t.lose(p, p.failed, s)
	case state == stateLeft:
		t.farewell(p, s)
	case p.dead:
		t.lose(p, errDied, s)
	case state != stateJoined:
		t.lose(p, errClosed, s)
	}
}

// farewell reports to s that p has left, when everything that it sent has been taken.
func (t *Transport) farewell(p *peer, s wire.Sink) {
	waits, late := false, false
	p.eachIn(func(l *inbound) {
		waits = waits || l.waits()
		late = late || l.open || atomic.LoadUint32(&l.line.late) != 0
	})
	switch {
	case waits:
		return // in a later Poll
	case late:
		t.lose(p, errLate, s)
		return
	}
	t.forget(p)
	s.Ended(p.rank, wire.Closed, nil)
}
