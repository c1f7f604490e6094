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
	how  wire.End // 0: it has not ended
	err  error    // the cause, unless how is wire.Closed
	told bool     // the sink has been told
	said bool     // this rank has sent its last word
	gone bool     // the peer's adapter has accepted the last word
}

var errCrashed = errors.New("its end was closed without a goodbye, or before everything was sent")

// pulseEvery is the interval at which this rank checks connected peers from which it expects
// nothing. The check writes into a word of their memory that nobody reads. The peer's adapter
// answers, and not its process: the answer shows that the process and its host exist, and costs the
// process nothing.
const pulseEvery = time.Second

// mostPulses is the greatest number of peers checked at a time.
const mostPulses = 64

// finish records how the connection with p ends. This Poll or a later one tells the sink.
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

// fail records that the queue pair for a rank is unusable or, for this rank, that the adapter is. A
// peer that has said goodbye may be gone.
func (t *Transport) fail(rank int, err error) {
	p := &t.peers[rank]
	if p.end.how == 0 {
		t.finish(p, wire.Broken, fmt.Errorf("verbs: %w", err))
	}
	p.end.gone = true
}

// known reports whether everything that p has sent before its end has been taken.
func (p *pair) known() bool { return p.end.how == wire.Broken || len(p.aside) == 0 }

// tells reports whether the next tellEnds has something to tell.
func (t *Transport) tells() bool { return slices.ContainsFunc(t.ending, (*pair).known) }

// tellEnds tells the sink which peers have ended, if everything they sent has been taken.
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

// drop destroys the queue pair for p.
func (t *Transport) drop(p *pair) {
	p.end.told = true
	p.clear()
	p.in, p.owes, p.aside = nil, nil, nil
	t.aside = slices.DeleteFunc(t.aside, func(o *pair) bool { return o == p })
	if p.rank != t.rank {
		t.adapter.Disconnect(p.rank)
	}
}

// beat checks whether some peers exist, if the last check is long ago.
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

// ping checks whether p's adapter answers.
func (t *Transport) ping(p *pair) {
	peer, at := &t.way.cards[p.rank], uint64(t.plan.word())
	p.pulse = true
	t.works = append(t.works, Work{
		ID: workID(idPulse, p.rank, 0), At: t.own.Base + at, Local: t.own.Local, Len: 8, To: uint16(p.rank), Op: Write, Flags: Signal,
		Remote: peer.base + at, Key: peer.key,
	})
}
