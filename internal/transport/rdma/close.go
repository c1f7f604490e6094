package rdma

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet"
	"github.com/schedgen/schedgen/runtime/wire"
)

// crashTime bounds how long Close without a goodbye tries to tell the peers. A peer that is not
// told finds out when it asks.
const crashTime = 20 * time.Millisecond

// Close ends the communicator for this rank; see [wire.Transport]. It returns an error if frames
// could not be sent in time; their receivers then see a loss.
func (t *Transport) Close(bye bool, linger time.Duration) error {
	if t.closed {
		return nil
	}
	t.grams.leave()
	var late []int
	if t.way.last = noteCrash; bye {
		t.way.last = noteGoodbye
		t.work(linger, (*pair).unwritten)
		late = t.bid()
	} else {
		linger = crashTime
		t.each(func(p *pair) { p.clear(); t.bidTo(p, kindCrash, noteCrash) })
	}
	t.each(t.touch)
	t.work(linger, (*pair).unsaid)
	err := errors.Join(t.park.watch.Modify(false, false), t.way.puts.Close(bye, linger), t.release())
	if len(late) > 0 {
		err = errors.Join(fmt.Errorf("verbs: close: not everything could be sent to %s in time", meet.RankList(late)), err)
	}
	return err
}

// bid sends a last word to all connected peers, and returns the ranks to which not everything could
// be sent.
func (t *Transport) bid() (late []int) {
	t.each(func(p *pair) {
		if p.unwritten() == 0 {
			t.bidTo(p, kindGoodbye, noteGoodbye)
			return
		}
		late = append(late, p.rank)
		p.clear()
		t.bidTo(p, kindCrash, noteCrash)
	})
	slices.Sort(late)
	return late
}

// bidTo sends a last word over the queue pair or, if the pair cannot be used yet, over TCP.
func (t *Transport) bidTo(p *pair, k wire.FrameKind, n note) {
	if p.link.progress == open {
		p.last = []wire.FrameKind{k}
	} else {
		t.sendNote(p.rank, n, nil)
	}
}

// unsaid returns 1 as long as the peer's adapter has not accepted the last word.
func (p *pair) unsaid() int {
	if p.end.gone || len(p.last) == 0 && !p.end.said {
		return 0
	}
	return 1
}

// each calls f for the connected peers that have not ended.
func (t *Transport) each(f func(*pair)) {
	for _, p := range t.begun {
		if p.end.how == 0 {
			f(p)
		}
	}
}

// work continues to send, and discards what arrives, until nothing is left or nothing has been sent
// for linger. It discards arrivals so that two closing ranks do not wait for each other.
func (t *Transport) work(linger time.Duration, left func(*pair) int) {
	patience := clock.Patience{Limit: linger}
	for {
		moved := t.Poll(wire.Nobody{})
		sum := 0
		t.each(func(p *pair) { sum += left(p) })
		rest := patience.Rest(t.clock.Now(), sum)
		if sum == 0 || rest <= 0 {
			return
		}
		if !moved {
			t.Wait(rest)
		}
	}
}

// release frees everything that the transport has allocated, except TCP.
func (t *Transport) release() error {
	t.grams.groups.leaveAll()
	t.closed = true
	for _, p := range t.begun {
		p.clear()
	}
	t.grams.queue.Clear()
	t.park.pending.Store(false)
	return t.adapter.Close()
}
