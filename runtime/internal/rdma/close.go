package rdma

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/internal/rendezvous"
	"github.com/schedgen/schedgen/runtime/wire"
)

// crashTime bounds how long Close without goodbye takes to say so. Who is not told finds
// it out by asking.
const crashTime = 20 * time.Millisecond

// Close ends the communicator for this rank; see [wire.Transport]. It fails
// if frames could not be sent in time; their receivers see a loss then.
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
		err = errors.Join(fmt.Errorf("verbs: close: not everything could be sent to %s in time", rendezvous.RankList(late)), err)
	}
	return err
}

// bid has a last word be said to all that this rank connects with, and returns those to which not all
// could be sent.
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

// bidTo has a last word be said over the queue pair, or, if it does not carry any yet, over TCP.
func (t *Transport) bidTo(p *pair, k wire.FrameKind, n note) {
	if p.link.progress == open {
		p.last = []wire.FrameKind{k}
	} else {
		t.tell(p.rank, n, nil)
	}
}

// unsaid is 1 as long as the peer's adapter has not taken the last word.
func (p *pair) unsaid() int {
	if p.end.gone || len(p.last) == 0 && !p.end.said {
		return 0
	}
	return 1
}

// each calls f for the peers that are there and that this rank connects with.
func (t *Transport) each(f func(*pair)) {
	for _, p := range t.begun {
		if p.end.how == 0 {
			f(p)
		}
	}
}

// work keeps sending, and throws away what comes so that two ranks that close do not wait
// for each other, until nothing is left, or nothing has become less for linger.
func (t *Transport) work(linger time.Duration, left func(*pair) int) {
	patience := clock.Patience{Limit: linger}
	for {
		moved := t.Poll(nobody{})
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

// release gives back all that the transport has taken, but TCP.
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

// nobody is the sink of a transport that is being closed.
type nobody struct{}

func (nobody) Body(*wire.Header) ([]byte, wire.Verdict)        { return nil, wire.Drop }
func (nobody) Arrived(*wire.Header, []byte)                    {}
func (nobody) Fragment(*wire.Header, int, []byte) wire.Verdict { return wire.Drop }
func (nobody) Ended(int, wire.End, error)                      {}
