//go:build linux

package memory

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/schedgen/schedgen/runtime/wire"
)

// peer is what this rank has to do with another.
type peer struct {
	rank    int
	pid     uint32
	start   uint64 // of the process
	bell    *bellLine
	line    *rankLine
	in      [wire.Lanes]inbound
	out     [wire.Lanes]outbound
	more    *further // of further communicators; nil: there were none
	changes uint32   // how often the peer had opened or closed one when this rank looked last
	cast    reader
	failed  error // why the peer is lost, which the next Poll tells
	dead    bool  // its process has ended
	gone    bool  // it has left or is lost
}

// How a rank may be lost.
var (
	errClosed = errors.New("it closed its end without a goodbye")
	errDied   = errors.New("its process has ended without a goodbye")
	errLate   = errors.New("it closed its end before everything was sent")
)

// loseLater has the next Poll tell that p is lost.
func (t *Transport) loseLater(p *peer, err error) {
	if p.failed == nil {
		p.failed = err
		t.again(p.rank)
	}
}

// lose tells s that p is lost.
func (t *Transport) lose(p *peer, err error, s wire.Sink) {
	if !p.gone {
		t.forget(p)
		s.Ended(p.rank, wire.Broken, fmt.Errorf("shm: %w", err))
	}
}

// forget drops what is queued for p, and what it sends from now on.
func (t *Transport) forget(p *peer) {
	p.gone = true
	p.eachOut(func(o *outbound) {
		o.cut, o.offset = false, 0
		o.queue.clear()
	})
}

// end tells s how p has ended, if it has. state is what p's state was before
// its lanes were read: all that it sent before it ended has been seen.
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

// farewell tells s that p has left when all it sent has been taken.
func (t *Transport) farewell(p *peer, s wire.Sink) {
	waits, late := false, false
	p.eachIn(func(l *inbound) {
		waits = waits || l.waits()
		late = late || l.open || atomic.LoadUint32(&l.line.late) != 0
	})
	switch {
	case waits:
		return // for another Poll
	case late:
		t.lose(p, errLate, s)
		return
	}
	t.forget(p)
	s.Ended(p.rank, wire.Closed, nil)
}
