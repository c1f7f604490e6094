package cast

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/schedgen/schedgen/runtime"
)

// tally holds what the sender knows of the receivers. A receiver may report a failure at any time.
type tally struct {
	strict bool
	chain  bool
	stop   chan struct{} // closed when no more is to be sent

	mu       sync.Mutex
	outcomes []Outcome // by rank - 1
	why      error     // why stop is closed; nil if it is open
	pace     pace
}

func newTally(receivers int, strict, chain bool) *tally {
	t := &tally{strict: strict, chain: chain, stop: make(chan struct{}), outcomes: make([]Outcome, receivers)}
	for i := range t.outcomes {
		t.outcomes[i].Rank = i + 1
	}
	return t
}

// note records the account of a rank.
func (t *tally) note(a *account) {
	if a.Rank < 1 || a.Rank > len(t.outcomes) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	o := &t.outcomes[a.Rank-1]
	if o.Done || o.Reason != "" {
		return
	}
	if a.Window != nil {
		t.pace.report(a.Rank, *a.Window)
		return
	}
	o.Done, o.Reason, o.Answer, o.Behind, o.told = a.Done, shorten(a.Reason), a.Answer, a.Behind, a.Reason != ""
	if o.Done || o.Reason != "" {
		t.pace.forget(a.Rank)
	}
	t.consider()
}

// keep records that only ranks are left. All others are lost because of why.
func (t *tally) keep(ranks []int, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pace.begin()
	for i := range t.outcomes {
		if o := &t.outcomes[i]; !slices.Contains(ranks, o.Rank) && !o.Done && o.Reason == "" {
			o.Reason, o.Silent = shorten("lost: "+lossOf(why)), errors.Is(why, runtime.ErrPeerSilent)
			t.pace.forget(o.Rank)
		}
	}
	t.consider()
}

// lossOf says in a few words why a rank is lost.
func lossOf(err error) string {
	switch {
	case errors.Is(err, runtime.ErrPeerSilent):
		return "no answer: it is very busy, its process is stopped, or its network is cut"
	case errors.Is(err, runtime.ErrPeerLost):
		return "its process or its host has ended, or cannot be reached"
	case errors.Is(err, runtime.ErrRefused):
		return err.Error()
	case errors.Is(err, runtime.ErrPeerLeft), errors.Is(err, runtime.ErrAborted): // these have no reason as a value
		return "it has left"
	}
	return err.Error()
}

// slow returns the rank of a receiver that is to be left out, or 0, and whether it must leave. It
// returns each receiver once.
func (t *tally) slow() (rank int, leave bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if rank = t.pace.slow(); rank == 0 {
		rank = t.pace.far(t.chain)
		if leave = rank > 0; leave {
			t.pace.begin() // the rates without it are different
		}
	}
	t.pace.forget(rank)
	return rank, leave
}

// stale reports whether the receivers must measure their networks again, after the piece behind.
func (t *tally) stale(behind uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pace.stale(behind)
}

// consider closes stop if no more is to be sent.
func (t *tally) consider() {
	failed := 0
	for i := range t.outcomes {
		o := &t.outcomes[i]
		if o.Reason == "" {
			continue
		}
		failed++
		if t.strict && t.why == nil {
			t.why = fmt.Errorf("rank %d: %s", o.Rank, o.Reason)
			close(t.stop)
		}
	}
	if failed == len(t.outcomes) && failed > 0 && t.why == nil {
		t.why = ErrNobody
		close(t.stop)
	}
}

// progress returns how far the cast has come. bytes is the number of bytes broadcast.
func (t *tally) progress(bytes int64) Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := Progress{Bytes: bytes, Slow: t.pace.holding()}
	for i := range t.outcomes {
		if t.outcomes[i].Reason != "" {
			p.Failed++
		}
	}
	return p
}

// stopped returns why no more is to be sent, or nil.
func (t *tally) stopped() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.why
}

// silent reports whether a receiver was lost because it gave no sign of life.
func (t *tally) silent() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.outcomes, func(o Outcome) bool { return o.Silent })
}

// result returns the outcomes. reason is the reason for receivers that have reported nothing. It is
// added to the reason of receivers that only know that the sender gave up.
func (t *tally) result(reason string) []Outcome {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := slices.Clone(t.outcomes)
	for i := range out {
		if !out[i].Done && out[i].Reason == "" {
			out[i].Reason = reason
		}
		if out[i].Reason == errBroken.Error() {
			out[i].Reason = shorten(fmt.Sprintf("%v: %s", errBroken, reason))
		}
	}
	return out
}
