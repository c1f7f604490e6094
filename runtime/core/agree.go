package core

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/runtime/wire"
)

// agreement lets the remaining ranks agree, before and after the core has failed. The process asks
// for agreements one after the other, numbered from 1. Agreement n is ballot 2n-1. Ballot 2n
// follows by itself: a rank votes in it when it knows the outcome of ballot 2n-1, so at its end all
// ranks know, and a rank may close. Ballot 0 is the core's own: when a rank is lost, the remaining
// ranks agree on the list of lost ranks, so that their calls fail with the same error.
type agreement struct {
	*env
	fate    *failure
	members *membership
	watch   *watch
	casts   messages
	surveys *surveys

	ballots []*ballot // the ballots that this rank knows of, without those that all ranks have finished
	last    uint64    // last agreement that the process has asked for
	taken   uint64    // last agreement whose outcome the process has taken
	out     error     // why this rank cannot agree any more: the others have gone on without it
	settled bool      // calls fail with the current error of fate
	missed  int       // ranks known to have gone at the last tick, while calls wait for the agreement
	until   Time      // when calls fail at the latest
	ask     Time      // when the awaited ranks are asked next; 0: set at the next tick
}

// vote begins the next agreement with v. If the process has not taken the last outcome, vote
// continues the last agreement instead. It returns the agreement's number.
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

// oldest is the first ballot that another rank may still ask about: a rank that votes in ballot
// 2n-1 knows the outcome of ballot 2n-3.
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

// of returns the ballot with that number, and makes it if there is none. A new ballot starts with
// all gone ranks that any other ballot knows: this rank may know of them from that ballot alone,
// and a gone rank that is alive again must not be asked to vote.
func (a *agreement) of(number uint64) *ballot {
	b := a.find(number)
	if b == nil {
		b = newBallot(number, a.Rank, a.Size, a.send)
		if number == 0 {
			a.inform(b)
		}
		for _, other := range a.ballots {
			b.learn(other.gone, other.lostSet)
		}
		a.ballots = append(a.ballots, b)
	}
	return b
}

// inform connects ballot 0 with what it asks this rank about.
func (a *agreement) inform(b *ballot) {
	b.came, b.questions, b.doubt = a.casts.came, a.surveys.answers, a.doubt
}

func (a *agreement) send(to int, b *ballot, s *saying) {
	f := s.frame(a.Size)
	f.Seq, f.Epoch, f.From = b.number, a.Epoch, a.Rank
	if b.number == 0 && a.fate.err != nil {
		a.fate.answer(to) // first the reason: the rank may hear of the failure only by this
	}
	a.put(to, f)
}

// bequeath tells a rank, before this rank leaves, which ranks are lost by agreement: that rank may
// not know yet, and the others that would tell it may leave as well.
func (a *agreement) bequeath(to int) {
	if b := a.find(0); b != nil && b.known && !b.gone.has(to) {
		b.tell(to, b.knows())
	}
}

// learn tells a ballot which ranks have gone, as far as this rank knows.
func (a *agreement) learn(b *ballot) {
	if b.known {
		return // every tick gets here
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

// look is called after every change of the membership. A rank that the others have taken for lost
// no longer agrees on anything, not even with itself after all others have gone.
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
			b.raise() // a doubt may be resolved
		}
	}
	if b := a.find(2*a.last - 1); a.last > 0 && b.known {
		confirm := a.of(2 * a.last)
		a.learn(confirm)
		confirm.vote(Vote{})
	}
}

// ripe reports whether the ranks have agreed why calls fail, and the calls have not failed yet.
// They fail at the next tick, when all arrived frames have been taken: a rank that was stopped may
// find in those frames that the others have gone on without it.
func (a *agreement) ripe() bool { return a.settling() && a.find(0) != nil && a.find(0).known }

// settling reports whether failed calls still wait for the agreement on the reason.
func (a *agreement) settling() bool {
	return !a.settled && a.fate.err != nil && !a.fate.closing && errors.Is(a.fate.err, ErrPeerLost) && a.fate.why.about != a.Rank
}

// settle fails the calls with the ranks that are known to be lost now.
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
		a.fate.err = &LostError{Ranks: ranks, Silent: lost.silent.list(), Came: b.spans(), Answers: b.agreed.list(), Err: a.fate.err}
	}
}

// fits reports whether h can be the header of a FrameAgree.
func (a *agreement) fits(h *wire.Header) bool {
	more := h.Len - sayingBytes(a.Size)
	return more >= 0 && more%answersBytes(a.Size) == 0 && more/answersBytes(a.Size) <= maxQuestions && h.Arg < agreeKinds
}

// heard takes a FrameAgree of another rank.
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

// believe takes from b the ranks that have left and do not tell this rank.
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

// doubt reports whether this rank must still find out how a rank has gone that others cannot reach.
// If the rank has left in good order, it tells this rank.
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

// told takes the reason of an abort, which may say that the others have taken this rank for lost.
// It ignores reasons of ranks that this rank takes for lost.
func (a *agreement) told(h *wire.Header, text []byte) {
	r, _ := a.reasonIn(h) // Body has checked it
	if r.about == a.Rank && r.origin != a.Rank && a.fate.isLoss(&r) && !a.members.lost(r.origin) {
		kind := a.kindOf(r.cause)
		r.text = string(text)
		a.exclude(kind, &heardError{r, kind}, false)
	}
}

// exclude fails the core because the others have taken this rank for lost. kind is the error, why
// its text. Calls that wait for an agreement on lost ranks fail with this error instead.
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

// active reports whether this rank waits for others to agree.
func (a *agreement) active() bool {
	if a.settling() {
		return true
	}
	return a.out == nil && a.last > 0 && !a.confirmed()
}

// confirmed reports whether all remaining ranks know the last outcome that this rank knows.
func (a *agreement) confirmed() bool {
	if a.last == 0 {
		return true
	}
	b := a.find(2 * a.last)
	return b != nil && b.known
}

// longest is the greatest time that failed calls wait for a silent rank, if Config.Silence is 0.
const longest = Time(2e9)

// patience is how long failed calls wait for silent ranks, counted from the last time that a rank
// was found to have gone. Further lost ranks are found within this time, even if the watch begins
// only now.
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

// remind asks the awaited ranks from time to time, so that this rank finds a dead rank to which
// nothing else is put.
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

// passOn tells the ranks that this rank watches which ranks have gone. The last watched rank is the
// next one alive, so the news goes round the ring. It reaches all ranks even if unknown lost ranks
// cut the tree.
func (a *agreement) passOn(b *ballot) {
	for _, t := range a.watch.targets {
		b.answer(t.rank)
	}
}

// due returns when tick next has something to do.
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

// Vote begins the process's next agreement with vote v, or continues one whose outcome it has not
// taken. It returns the agreement's number. It may be called before and after the core has failed.
func (c *Core) Vote(v Vote) (number uint64) { return c.agree.vote(v) }

// Outcome returns the outcome of an agreement; ok is false while it is not known.
func (c *Core) Outcome(number uint64) (o Outcome, ok bool) {
	b := c.agree.find(2*number - 1)
	if b == nil || !b.known {
		return Outcome{}, false
	}
	c.agree.taken = max(c.agree.taken, number)
	return Outcome{Vote: b.is, Gone: b.apart.list(), Lost: b.dead.lost.list()}, true
}

// Confirmed reports whether this rank may close. All remaining ranks must know the last outcome
// that this rank knows, so that no rank agrees on anything else. If losses are seen, this rank's
// last signals must also have been repeated as often as they are.
func (c *Core) Confirmed() bool {
	return c.agree.confirmed() && (c.fate.err != nil || !c.rec.losing() || len(c.rec.doubles) == 0)
}

// Excluded returns an error if the other ranks have taken this rank for lost, so that it cannot
// agree with them any more, and nil otherwise.
func (c *Core) Excluded() error { return c.agree.out }

// Lose fails the core because a rank, perhaps this one, is lost, as another communicator of the
// process has found. A core without other ranks goes on.
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

// Settle fails calls at once because of a lost rank, although the ranks have not agreed which are
// lost.
func (c *Core) Settle() {
	if c.agree.settling() {
		c.agree.look()
		c.agree.settle()
	}
}

// LostError says which ranks are lost. The list is the same at every remaining rank, unless a rank
// did not answer in time when they agreed on it.
type LostError struct {
	Ranks  []int  // all lost ranks, ascending
	Silent []int  // those of Ranks that have given no sign of life, and may still be alive
	Came   []Came // for the first few of Ranks that have published

	// Answers are the questions that were open, of the lowest ranks if there were many, and whose
	// answers the remaining ranks have.
	Answers []Answers

	Err error // how this rank has learnt of the loss
}

// Came is how many rootless messages of a lost rank the remaining ranks have received: between
// Least and Most each. If Least equals Most, all have the same messages.
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

// Unwrap returns a RankError about the lowest lost rank, one about the lowest silent rank if there
// is one, and Err.
func (e *LostError) Unwrap() []error {
	all := []error{&RankError{Rank: e.Ranks[0], Err: ErrPeerLost}}
	if len(e.Silent) > 0 {
		all = append(all, &RankError{Rank: e.Silent[0], Err: ErrPeerSilent})
	}
	return append(all, e.Err)
}

// cloneBallots replaces the ballots of a, a plain copy of another agreement, by independent ones.
func (a *agreement) cloneBallots() {
	all := a.ballots
	a.ballots = nil
	for _, b := range all {
		c := b.clone(a.send)
		if b.number == 0 {
			a.inform(c)
		}
		a.ballots = append(a.ballots, c)
	}
}
