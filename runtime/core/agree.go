package core

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/runtime/wire"
)

// agreement has the ranks that are left agree, whether the core works or has failed. The
// process asks for agreements one after the other, from number 1 on. Number 0 is the
// core's own: when a rank is lost, all that are left find out which ranks that are, so that
// their calls fail with the same error.
type agreement struct {
	*env
	fate    *failure
	members *membership
	watch   *watch

	ballots []*ballot // that this rank knows of, but for those that all have done with
	last    uint64    // the last one that its process has asked for
	settled bool      // calls fail with what fate says now
	out     error     // why this rank cannot agree any more: the others have gone on without it
	until   Time      // when they do at the latest; 0: from the next tick on for a while
}

// vote begins the next agreement with v or, if the present one has not ended, goes on
// with that. It returns its number.
func (a *agreement) vote(v Vote) (number uint64) {
	if b := a.find(a.last); a.last == 0 || b.known {
		a.last++
		a.forget()
	}
	b := a.of(a.last)
	a.learn(b)
	b.vote(v)
	return a.last
}

// forget drops the ballots that nobody asks about any more: those before the last one are
// known at every rank that has voted in it.
func (a *agreement) forget() {
	kept := a.ballots[:0]
	for _, b := range a.ballots {
		if b.number == 0 || b.number+1 >= a.last {
			kept = append(kept, b)
		}
	}
	clear(a.ballots[len(kept):])
	a.ballots = kept
}

func (a *agreement) find(number uint64) *ballot {
	for _, b := range a.ballots {
		if b.number == number {
			return b
		}
	}
	return nil
}

// of returns the ballot of a number, which is made if there is none.
func (a *agreement) of(number uint64) *ballot {
	b := a.find(number)
	if b == nil {
		b = newBallot(number, a.Rank, a.Size, a.send)
		a.ballots = append(a.ballots, b)
	}
	return b
}

func (a *agreement) send(to int, b *ballot, s *saying) {
	f := s.frame(a.Size)
	f.Seq, f.Epoch, f.From = b.number, a.Epoch, a.Rank
	a.put(to, f)
}

// learn tells a ballot who has gone, as far as this rank knows.
func (a *agreement) learn(b *ballot) {
	gone, lost := newRankset(a.Size), newRankset(a.Size)
	for _, m := range a.members.absent {
		if m.state != suspected {
			gone.add(m.rank)
		}
		if m.state == isLost {
			lost.add(m.rank)
		}
	}
	b.learn(gone, lost)
}

// look is called after whatever may have changed who is there.
func (a *agreement) look() {
	if a.settling() && a.find(0) == nil {
		a.of(0)
	}
	for _, b := range a.ballots {
		a.learn(b)
		if b.number == 0 && a.fate.err != nil {
			b.vote(Vote{})
		}
	}
	if a.settling() && a.find(0).known {
		a.settle()
	}
}

// settling reports whether calls that have failed wait until it is agreed why.
func (a *agreement) settling() bool {
	return !a.settled && a.fate.err != nil && !a.fate.closing && errors.Is(a.fate.err, ErrPeerLost) && a.fate.why.about != a.Rank
}

// settle has calls fail with what is known now.
func (a *agreement) settle() {
	a.settled = true
	if b := a.find(0); b.known && len(b.dead.list()) > 0 {
		a.fate.err = &LostError{Ranks: b.dead.list(), Err: a.fate.err}
	}
}

// body returns the memory for a FrameAgree, nil if it cannot be one.
func (a *agreement) body(h *wire.Header) []byte {
	if h.Len != sayingBytes(a.Size) || h.Arg >= agreeKinds {
		a.fate.violation(h, "agreement of kind %d with %d bytes, of %d", h.Arg, h.Len, sayingBytes(a.Size))
		return nil
	}
	return make([]byte, h.Len)
}

// heard takes what another rank says.
func (a *agreement) heard(h *wire.Header, body []byte) {
	s := heardSaying(h.Arg, body, a.Size)
	switch number := h.Seq; {
	case s.gone.has(a.Rank):
		a.out = a.fate.excluded(h.From)
		return
	case number > a.last+1:
		a.fate.violation(h, "agreement %d, where this rank is in %d", number, a.last)
		return
	case number > 0 && number+1 < a.last:
		return
	}
	b := a.of(h.Seq)
	if a.learn(b); b.gone.has(h.From) {
		b.answer(h.From)
		return
	}
	b.heard(h.From, s)
	if h.Seq == 0 && a.fate.err == nil {
		a.fate.hearsay(h.From, append(b.lost.list(), b.gone.list()...))
	}
	a.look()
}

// active reports whether this rank waits for others.
func (a *agreement) active() bool {
	if a.settling() {
		return true
	}
	for _, b := range a.ballots {
		if b.number > 0 && b.voted && !b.known {
			return true
		}
	}
	return false
}

// longest is how long failed calls wait for agreement at most.
const longest = Time(2e9)

func (a *agreement) tick(now Time) {
	if a.look(); !a.active() {
		return
	}
	a.watch.want()
	if !a.settling() {
		return
	}
	if a.until == 0 {
		a.until = now + longest
		if a.Silence > 0 {
			a.until = now + a.watch.interval()
		}
	}
	if now >= a.until {
		a.settle()
	}
}

// due returns when tick has something to do next.
func (a *agreement) due() Time {
	if !a.settling() {
		return never
	}
	return max(a.until, 1)
}

// Vote begins the process's next agreement, in which it votes v, or goes on with the one
// that has not ended; it returns its number. It may be called whether the core works
// or has failed.
func (c *Core) Vote(v Vote) (number uint64) { return c.agree.vote(v) }

// Outcome returns what has been agreed on; ok is false before it is known.
func (c *Core) Outcome(number uint64) (o Outcome, ok bool) {
	b := c.agree.find(number)
	if b == nil || !b.known {
		return Outcome{}, false
	}
	return Outcome{Vote: b.is, Gone: b.apart.list(), Lost: b.dead.list()}, true
}

// Excluded returns an error if the other ranks have taken this one for lost, and it cannot
// agree with them any more.
func (c *Core) Excluded() error { return c.agree.out }

// Settle has calls fail at once because of a rank that is lost, though it has not been agreed which are.
func (c *Core) Settle() {
	if c.agree.settling() {
		c.agree.look()
		c.agree.settle()
	}
}

// LostError is that ranks are lost: the same ones at every rank that is left, unless a rank
// did not answer in time when they agreed on that.
type LostError struct {
	Ranks []int // ascending
	Err   error // how this rank has learnt of it
}

func (e *LostError) Error() string {
	if len(e.Ranks) == 1 {
		return e.Err.Error()
	}
	return fmt.Sprintf("ranks %s are lost: %v", list(e.Ranks), e.Err)
}

// Unwrap returns Err, and first that the lowest of the ranks is lost.
func (e *LostError) Unwrap() []error {
	return []error{&RankError{Rank: e.Ranks[0], Err: ErrPeerLost}, e.Err}
}

// cloneBallots makes the ballots independent of those that a is a plain copy of.
func (a *agreement) cloneBallots() {
	all := a.ballots
	a.ballots = nil
	for _, b := range all {
		a.ballots = append(a.ballots, b.clone(a.send))
	}
}
