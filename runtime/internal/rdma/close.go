package rdma

import (
	"errors"
	"fmt"
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
	if bye {
		t.work(linger, (*pair).unwritten)
		late = t.bid()
	} else {
		linger = crashTime
		t.each(func(p *pair) { p.clear(); p.last = []wire.FrameKind{kindCrash} })
	}
	t.each(t.touch)
	t.work(linger, (*pair).unsaid)
	err := t.release()
	if len(late) > 0 {
		err = errors.Join(fmt.Errorf("verbs: close: not everything could be sent to %s in time", rendezvous.RankList(late)), err)
	}
	return err
}

// bid has a last word be said to all, and returns those to which not all could be sent.
func (t *Transport) bid() (late []int) {
	t.each(func(p *pair) {
		p.last = []wire.FrameKind{kindGoodbye}
		if p.unwritten() > 0 {
			late = append(late, p.rank)
			p.clear()
			p.last = []wire.FrameKind{kindCrash}
		}
	})
	return late
}

// unsaid is 1 as long as the peer's adapter has not taken the last word.
func (p *pair) unsaid() int {
	if p.end.gone {
		return 0
	}
	return 1
}

// each calls f for the peers that are there.
func (t *Transport) each(f func(*pair)) {
	for rank := range t.peers {
		if p := &t.peers[rank]; rank != t.rank && p.end.how == 0 {
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

// release gives back all that the transport has taken.
func (t *Transport) release() error {
	t.closed = true
	for rank := range t.peers {
		t.peers[rank].clear()
	}
	t.grams.queue.Clear()
	t.park.pending.Store(false)
	err := t.park.watch.Modify(false, false)
	t.park.reactor.Close()
	return errors.Join(err, t.adapter.Close())
}

// nobody is the sink of a transport that is being closed.
type nobody struct{}

func (nobody) Body(*wire.Header) ([]byte, wire.Verdict)        { return nil, wire.Drop }
func (nobody) Arrived(*wire.Header, []byte)                    {}
func (nobody) Fragment(*wire.Header, int, []byte) wire.Verdict { return wire.Drop }
func (nobody) Ended(int, wire.End, error)                      {}
