package core

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/runtime/wire"
)

// agreement has the ranks that are left agree, whether the core works or has failed. The
// process asks for agreements one after the other, from 1 on: agreement n is ballot 2n-1. Ballot 2n
// follows by itself: who votes in it knows what ballot 2n-1 has brought, so that at its end all do, and
// a rank may close. Ballot 0 is the core's own: when a rank is lost, all that are left find out
// which ranks that are, so that their calls fail with the same error.
type agreement struct {
	*env
	fate    *failure
	members *membership
	watch   *watch
	casts   *rootless

	ballots []*ballot // that this rank knows of, but for those that all have done with
	last    uint64    // the last agreement that its process has asked for
	taken   uint64    // the last of which it has been told the outcome
	out     error     // why this rank cannot agree any more: the others have gone on without it
	settled bool      // calls fail with what fate says now
	missed  int       // how many ranks were known to have gone at the last tick, while calls wait for that
	until   Time      // when they fail at the latest
	ask     Time      // when those that are waited for are asked next; 0: from the next tick on
}

// vote begins the next agreement with v or, if the process has not been told what the last one has
// brought, goes on with that. It returns its number.
func (a *agreement) vote(v Vote) (number uint64) {
	if a.last == a.taken {
		a.last++
		a.forget()
	}
	b := a.of(2*a.last - 1)
	if a.out == nil {
		a.learn(b)
		b.vote(v)
		a.look()
	}
	return a.last
}

// oldest is the first ballot that another rank may still ask about: who votes in ballot 2n-1 knows
// what ballot 2n-3 has brought.
func (a *agreement) oldest() uint64 { return max(2*a.last, 4) - 3 }

func (a *agreement) forget() {
	kept := a.ballots[:0]
	for _, b := range a.ballots {
		if b.number == 0 || b.number >= a.oldest() {
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

// of returns the ballot of a number, which is made if there is none. It begins with who has gone by what is known in any other: a rank may have
// heard of that there alone, and who has gone may live again, and must not be asked to take part in what follows.
func (a *agreement) of(number uint64) *ballot {
	b := a.find(number)
	if b == nil {
		b = newBallot(number, a.Rank, a.Size, a.send)
		if number == 0 {
			b.came, b.doubt = a.casts.came, a.doubt
		}
		for _, other := range a.ballots {
			b.learn(other.gone, other.lostSet)
		}
		a.ballots = append(a.ballots, b)
	}
	return b
}

func (a *agreement) send(to int, b *ballot, s *saying) {
	f := s.frame(a.Size)
	f.Seq, f.Epoch, f.From = b.number, a.Epoch, a.Rank
	if b.number == 0 && a.fate.err != nil {
		a.fate.answer(to) // first why: it may hear of the failure by this alone
	}
	a.put(to, f)
}

// bequeath tells a rank, before this one leaves, which ranks are lost by what has been agreed: it
// may have heard that of nobody yet, and those that would have told it may leave as well.
func (a *agreement) bequeath(to int) {
	if b := a.find(0); b != nil && b.known && !b.gone.has(to) {
		b.tell(to, b.knows())
	}
}

// learn tells a ballot who has gone, as far as this rank knows.
func (a *agreement) learn(b *ballot) {
	if b.known {
		return // every tick comes here
	}
	gone, l := newRankset(a.Size), newLostSet(a.Size)
	for _, m := range a.members.absent {
		if m.state != suspected {
			gone.add(m.rank)
		}
		if m.state == isLost {
			l.lost.add(m.rank)
		}
		if m.silent {
			l.silent.add(m.rank)
		}
	}
	b.learn(gone, l)
}

// look is called after whatever may have changed who is there. A rank that the others have taken for lost agrees on
// nothing any more, not even with itself when all others have gone.
func (a *agreement) look() {
	if a.out != nil {
		return
	}
	if a.settling() && a.find(0) == nil {
		a.of(0)
	}
	for _, b := range a.ballots {
		a.learn(b)
		if b.number == 0 && a.fate.err != nil {
			b.vote(Vote{})
			b.raise() // what it has doubted may be certain
		}
	}
	if b := a.find(2*a.last - 1); a.last > 0 && b.known {
		confirm := a.of(2 * a.last)
		a.learn(confirm)
		confirm.vote(Vote{})
	}
}

// ripe reports whether it is agreed why calls fail, and they have not yet. They do at the next tick, when all has been taken
// that has come: a rank that was stopped may find there that the others have gone on without it.
func (a *agreement) ripe() bool { return a.settling() && a.find(0) != nil && a.find(0).known }

// settling reports whether calls that have failed wait until it is agreed why.
func (a *agreement) settling() bool {
	return !a.settled && a.fate.err != nil && !a.fate.closing && errors.Is(a.fate.err, ErrPeerLost) && a.fate.why.about != a.Rank
}

// settle has calls fail with what is known now.
func (a *agreement) settle() {
	a.settled = true
	b := a.find(0)
	lost := b.lostSet
	if b.known {
		lost = b.dead
	} else if why := &a.fate.why; a.kindOf(why.cause) == ErrPeerSilent {
		lost.lost.add(why.about)
		lost.silent.add(why.about)
	}
	for _, rank := range lost.lost.list() {
		if !a.members.gone(rank) {
			a.fate.mourn(rank, lost.lossOf(rank))
		}
	}
	if ranks := lost.lost.list(); b.known && len(ranks) > 0 {
		a.fate.err = &LostError{Ranks: ranks, Silent: lost.silent.list(), Came: b.spans(), Err: a.fate.err}
	}
}

// fits reports whether h can be the head of a FrameAgree.
func (a *agreement) fits(h *wire.Header) bool {
	return h.Len == sayingBytes(a.Size) && h.Arg < agreeKinds
}

// heard takes what another rank says.
func (a *agreement) heard(h *wire.Header, body []byte) {
	s := heardSaying(h.Arg, body, a.Size)
	switch number := h.Seq; {
	case s.gone.has(a.Rank):
		if !a.members.lost(h.From) {
			a.exclude(s.lossOf(a.Rank), fmt.Errorf("%w: rank %d and others have gone on without this one", s.lossOf(a.Rank), h.From), false)
		}
		return
	case a.out != nil:
		return
	case number > 2*a.last+1:
		a.fate.violation(h, "ballot %d, where this rank has asked for %d agreements", number, a.last)
		return
	case number > 0 && number < a.oldest():
		return
	}
	b := a.of(h.Seq)
	b.heard(h.From, s)
	a.believe(b)
	a.learn(b)
	if h.Seq == 0 && a.fate.err == nil {
		a.fate.hearsay(h.From, &b.lostSet, b.gone)
	}
	a.look()
}

// believe takes from b which ranks have left that do not tell this one when they do.
func (a *agreement) believe(b *ballot) {
	if a.allNear() {
		return
	}
	for _, rank := range b.gone.list() {
		if !b.lost.has(rank) && !a.members.gone(rank) && !a.hearsLeave(rank) {
			a.members.leave(rank, unknown, 0)
		}
	}
}

// doubt reports whether it is still to be found out how a rank has gone that others cannot reach:
// if in good order this rank is told.
func (a *agreement) doubt(rank int) bool {
	return !a.allNear() && !a.members.gone(rank) && a.hearsLeave(rank)
}

// lossOf returns why rank is lost: ErrPeerSilent or ErrPeerLost.
func (l *lostSet) lossOf(rank int) error {
	if l.silent.has(rank) {
		return ErrPeerSilent
	}
	return ErrPeerLost
}

// told takes the reason of an abort, which may say that the others take this rank for lost. It ignores
// ranks that this one takes for lost.
func (a *agreement) told(h *wire.Header, text []byte) {
	r, _ := a.reasonIn(h) // Body has looked
	if r.about == a.Rank && r.origin != a.Rank && a.fate.isLoss(&r) && !a.members.lost(r.origin) {
		kind := a.kindOf(r.cause)
		r.text = string(text)
		a.exclude(kind, &heardError{r, kind}, false)
	}
}

// exclude fails the core because the others have taken this rank for lost: it is of a kind and, in words, why. If
// calls wait until it is agreed which ranks are lost they fail with this instead.
func (a *agreement) exclude(kind, why error, tell bool) {
	if a.out != nil || a.fate.closing {
		return
	}
	err := &RankError{Rank: a.Rank, Err: why}
	if a.settling() {
		a.settled, a.fate.err = true, err
	}
	a.out = err
	a.fate.fail(err, tell)
	if a.Lost != nil {
		a.Lost(a.Rank, fmt.Errorf("%w, and other ranks have gone on without this one", kind))
	}
}

// active reports whether this rank waits for others.
func (a *agreement) active() bool {
	if a.settling() {
		return true
	}
	return a.out == nil && a.last > 0 && !a.confirmed()
}

// confirmed reports whether all ranks that are left know what this one has agreed on last.
func (a *agreement) confirmed() bool {
	if a.last == 0 {
		return true
	}
	b := a.find(2 * a.last)
	return b != nil && b.known
}

// longest is how long failed calls wait at most for a rank that says nothing, where nobody is lost by silence.
const longest = Time(2e9)

// patience is how long failed calls wait for ranks that say nothing, from when another one was last found to have gone.
// Those that are lost, too, are found in this time: the watch may have begun only now.
func (a *agreement) patience() Time {
	if a.Silence == 0 {
		return longest
	}
	return a.Silence + stays*a.watch.interval()
}

func (a *agreement) tick(now Time) {
	if a.look(); a.ripe() {
		a.settle()
	}
	if !a.active() {
		a.ask = 0
		return
	}
	a.watch.want()
	a.remind(now)
	if !a.settling() {
		return
	}
	if gone := len(a.find(0).gone.list()); a.until == 0 || gone > a.missed {
		a.missed, a.until = gone, now+a.patience()
	}
	if now >= a.until {
		a.settle()
	}
}

// remind asks those that this rank waits for, once in a while: so that it is found if one is
// dead that nothing else is put to.
func (a *agreement) remind(now Time) {
	if a.ask == 0 || now >= a.ask {
		late := a.ask > 0
		a.ask = now + max(a.Stall, longest/questions)
		for _, b := range a.ballots {
			if late && !b.known {
				b.remind()
				for _, rank := range b.doubted() {
					a.control(rank, wire.FrameWatch, 0, 0, 0)
				}
				a.passOn(b)
			}
		}
	}
}

// passOn tells the ranks that this one watches which ranks have gone. The last watched rank is the next
// one alive, so the news goes round the ring. It reaches all ranks even if lost ranks, unknown so far,
// cut the tree.
func (a *agreement) passOn(b *ballot) {
	for _, t := range a.watch.targets {
		b.answer(t.rank)
	}
}

// due returns when tick has something to do next.
func (a *agreement) due() Time {
	if !a.active() {
		return never
	}
	due := max(a.ask, 1)
	if a.ripe() {
		return 1
	}
	if a.settling() {
		due = min(due, max(a.until, 1))
	}
	return due
}

// Vote begins the process's next agreement, in which it votes v, or goes on with one that it has not
// been told the outcome of; it returns its number. It may be called whether the core works
// or has failed.
func (c *Core) Vote(v Vote) (number uint64) { return c.agree.vote(v) }

// Outcome tells the process what has been agreed on; ok is false before it is known.
func (c *Core) Outcome(number uint64) (o Outcome, ok bool) {
	b := c.agree.find(2*number - 1)
	if b == nil || !b.known {
		return Outcome{}, false
	}
	c.agree.taken = max(c.agree.taken, number)
	return Outcome{Vote: b.is, Gone: b.apart.list(), Lost: b.dead.lost.list()}, true
}

// Confirmed reports whether this rank may close: all that are left know what it has agreed on last,
// so that nobody agrees on anything else, and, where lostSet are seen, its last signals have been sent
// as often as they are.
func (c *Core) Confirmed() bool {
	return c.agree.confirmed() && (c.fate.err != nil || !c.rec.losing() || len(c.rec.doubles) == 0)
}

// Excluded returns an error if the other ranks have taken this one for lost, and it cannot
// agree with them any more.
func (c *Core) Excluded() error { return c.agree.out }

// Lose fails the core because a rank is lost, perhaps this one itself, as another communicator of the process has
// found. A core without other ranks goes on.
func (c *Core) Lose(rank int, err error) {
	switch {
	case c.fate.closing || c.env.Size == 1:
	case rank == c.env.Rank:
		c.agree.exclude(err, err, true)
	case !c.members.gone(rank):
		c.fate.lose(rank, err)
		c.agree.look()
	}
}

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
	Ranks  []int  // ascending
	Silent []int  // those of them that have given no sign of life, and may live all the same
	Came   []Came // of the first few of them that have published
	Err    error  // how this rank has learnt of it
}

// Came is how many of the rootless messages of a rank that is lost have come to the ranks that are
// left: Least to one of them, Most to another. If these are equal all have the same ones.
type Came struct {
	Rank        int
	Least, Most uint64
}

func (e *LostError) Error() string {
	text := e.Err.Error()
	if len(e.Ranks) > 1 {
		text = fmt.Sprintf("ranks %s are lost: %s", list(e.Ranks), text)
	}
	for _, c := range e.Came {
		if c.Least < c.Most {
			text += fmt.Sprintf("; not all that are left have the same messages of rank %d: from %d to %d of them", c.Rank, c.Least, c.Most)
		}
	}
	return text
}

// Unwrap returns Err, and before it that the lowest of the ranks is lost, and that the lowest silent one is silent.
func (e *LostError) Unwrap() []error {
	all := []error{&RankError{Rank: e.Ranks[0], Err: ErrPeerLost}}
	if len(e.Silent) > 0 {
		all = append(all, &RankError{Rank: e.Silent[0], Err: ErrPeerSilent})
	}
	return append(all, e.Err)
}

// cloneBallots makes the ballots independent of those that a is a plain copy of.
func (a *agreement) cloneBallots() {
	all := a.ballots
	a.ballots = nil
	for _, b := range all {
		a.ballots = append(a.ballots, b.clone(a.send, a.casts.came, a.doubt))
	}
}
