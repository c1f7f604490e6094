package rdma

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/schedgen/schedgen/runtime/wire"
)

// end is how the connection with a peer ends.
type end struct {
	how  wire.End // 0: it goes on
	err  error    // why, unless it is wire.Closed
	told bool     // the sink knows
	said bool     // this rank has said its last word
	gone bool     // which the peer's adapter has taken
}

var errCrashed = errors.New("its end was closed without a goodbye, or before everything was sent")

// pulseEvery is how often connected peers are looked after from which nothing is waited for: by a
// write into a word of their memory that nobody reads. The peer's adapter answers, and not
// the process: so that says whether the process and its host are there, and
// costs the process nothing.
const pulseEvery = time.Second

// mostPulses is how many peers are asked at a time.
const mostPulses = 64

// finish notes how the connection with p ends; this Poll, or a later one, tells the sink.
func (t *Transport) finish(p *pair, how wire.End, err error) {
	if p.end.told || how <= p.end.how {
		return
	}
	if p.end.how == 0 {
		t.ending = append(t.ending, p)
		p.clear()
		if p.link.progress == asking || p.link.progress == connected {
			t.way.opening--
		}
	}
	p.end.how, p.end.err = how, err
	t.park.pending.Store(true)
}

// fail notes that the queue pair for a rank is of no use any more, or, of this rank, that
// the adapter is not. A peer that has said goodbye may be gone.
func (t *Transport) fail(rank int, err error) {
	p := &t.peers[rank]
	if p.end.how == 0 {
		t.finish(p, wire.Broken, fmt.Errorf("verbs: %w", err))
	}
	p.end.gone = true
}

// known reports whether all is known that will be of how p has ended: what it sent before
// is taken.
func (p *pair) known() bool { return p.end.how == wire.Broken || len(p.aside) == 0 }

// tells reports whether the next tellEnds has something to tell.
func (t *Transport) tells() bool { return slices.ContainsFunc(t.ending, (*pair).known) }

// tellEnds tells the sink of the peers of which all is known.
func (t *Transport) tellEnds(s wire.Sink) (moved bool) {
	list := t.ending
	t.ending = nil
	for _, p := range list {
		if !p.known() {
			t.ending = append(t.ending, p)
			continue
		}
		t.drop(p)
		s.Ended(p.rank, p.end.how, p.end.err)
		moved = true
	}
	return moved
}

// drop gives up the queue pair with p.
func (t *Transport) drop(p *pair) {
	p.end.told = true
	p.clear()
	p.in, p.owes, p.aside = nil, nil, nil
	t.aside = slices.DeleteFunc(t.aside, func(o *pair) bool { return o == p })
	if p.rank != t.rank {
		t.adapter.Disconnect(p.rank)
	}
}

// beat asks some peers whether they are there, if that was long ago.
func (t *Transport) beat() {
	now := t.clock.Now()
	if now.Sub(t.park.pulsed) < pulseEvery {
		return
	}
	t.park.pulsed = now
	for range min(len(t.begun), mostPulses) {
		t.park.next = (t.park.next + 1) % len(t.begun)
		if p := t.begun[t.park.next]; p.link.progress == open && p.end.how == 0 && !p.pulse {
			t.ping(p)
		}
	}
}

// ping asks p's adapter.
func (t *Transport) ping(p *pair) {
	peer, at := &t.way.cards[p.rank], uint64(t.plan.word())
	p.pulse = true
	t.works = append(t.works, Work{
		ID: workID(idPulse, p.rank, 0), At: t.own.Base + at, Local: t.own.Local, Len: 8, To: uint16(p.rank), Op: Write, Flags: Signal,
		Remote: peer.base + at, Key: peer.key,
	})
}
