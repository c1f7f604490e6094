package core

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/internal/core/agree"
	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Agreements are in package agree. Here they meet failures and time: frames carry their messages, a
// rank that others have taken for lost fails, and calls that fail because of a lost rank wait for
// the agreement on all lost ranks.

// Vote is a rank's part of an agreement, and the combination of the votes of all ranks that take
// part.
type Vote = agree.Vote

// Outcome is the result of an agreement: the same at all ranks.
type Outcome = agree.Outcome

// Came is how many rootless messages of a lost rank the remaining ranks have received.
type Came = agree.Came

// Answers are the ranks whose answers to an open question are known to be in.
type Answers = agree.Answers

// agreement is a rank's agreements, and how calls wait for them.
type agreement struct {
	agree.Agreements
	out     error // why this rank cannot agree any more: the others have gone on without it
	settled bool  // calls fail with the current error
	missed  int   `state:"ignored"` // ranks known to have gone at the last tick, while calls wait for the agreement
	until   Time  `state:"ignored"` // when calls fail at the latest
	ask     Time  `state:"ignored"` // when the awaited ranks are asked next; 0: set at the next tick
}

// facts is a core, as its agreements see it.
type facts Core

// Gone returns the ranks that have left or are lost, and the lost ranks alone.
func (f *facts) Gone() (agree.Set, agree.Losses) {
	gone, lost := agree.NewSet(f.env.Size), agree.NewLosses(f.env.Size)
	for _, a := range f.members.All() {
		if a.State != presence.Suspected {
			gone.Add(a.Rank)
		}
		if a.State == presence.Lost {
			lost.Add(a.Rank, a.Silent)
		}
	}
	return gone, lost
}

// Came returns how many rootless messages of rank have arrived.
func (f *facts) Came(rank int) uint64 { return f.messages.Came(rank) }

// Answers returns whose answers to open questions have arrived.
func (f *facts) Answers() []agree.Answers { return f.surveys.answers() }

// Doubts reports whether this rank must still find out how rank, which others cannot reach, has
// gone. A rank that leaves in good order tells this rank.
func (f *facts) Doubts(rank int) bool {
	return !f.env.allNear() && !f.members.Gone(rank) && f.env.hearsLeave(rank)
}

// updateAgreements is called after every change of the membership. A rank that the others have
// taken for lost no longer agrees on anything, not even with itself after all others have gone.
func (c *Core) updateAgreements() {
	if c.agree.out != nil {
		return
	}
	if c.settling() {
		c.agree.Open((*facts)(c))
	}
	c.agree.Update((*facts)(c), c.fate.err != nil)
	c.sendAgreements()
}

// sendAgreements sends the messages of the last step.
func (c *Core) sendAgreements() {
	for _, m := range c.agree.Messages() {
		if m.Ballot == 0 && c.fate.err != nil {
			c.fate.answer(m.To) // first the reason: the rank may hear of the failure only by this
		}
		f := c.env.fillControl(wire.FrameAgree, m.Ballot, 0, uint32(m.Kind))
		f.Body, f.Len = m.Body, len(m.Body)
		c.env.put(m.To, f)
	}
}

// heardAgreement takes a FrameAgree of another rank.
func (c *Core) heardAgreement(h *wire.Header, body []byte) {
	if c.agree.out != nil {
		return
	}
	verdict := c.agree.Hear(h.From, agree.Message{Ballot: h.Seq, Kind: agree.Kind(h.Arg), Body: body}, (*facts)(c))
	c.sendAgreements()
	switch verdict {
	case agree.Heard:
		gone, lost := c.agree.Said(h.Seq)
		c.believe(gone, lost)
		if h.Seq == 0 && c.fate.err == nil {
			c.fate.hearsay(h.From, lost, gone)
		}
		c.updateAgreements()
	case agree.Unasked:
		c.fate.violation(h, "ballot %d, but this rank has asked for only %d agreements", h.Seq, c.agree.Last())
	case agree.Excluded:
		c.goneWithout(h.From, ErrPeerLost)
	case agree.Silent:
		c.goneWithout(h.From, ErrPeerSilent)
	}
}

// goneWithout takes the news of a rank that it and others have gone on without this rank. It
// ignores the news of a lost rank.
func (c *Core) goneWithout(rank int, kind error) {
	if !c.members.Lost(rank) {
		c.exclude(kind, fmt.Errorf("%w: rank %d and others have gone on without this one", kind, rank), false)
	}
}

// believe records ranks that have left, as others say, unless they would tell this rank themselves.
func (c *Core) believe(gone agree.Set, lost agree.Losses) {
	if c.env.allNear() {
		return
	}
	for _, rank := range gone.List() {
		if !lost.Lost.Has(rank) && !c.members.Gone(rank) && !c.env.hearsLeave(rank) {
			c.members.Leave(rank, presence.Unknown, 0)
		}
	}
}

// lossOf returns why a rank is lost: ErrPeerSilent or ErrPeerLost.
func lossOf(l agree.Losses, rank int) error {
	if l.Silent.Has(rank) {
		return ErrPeerSilent
	}
	return ErrPeerLost
}

// heardReason takes the reason of an abort, which may say that the others have taken this rank for
// lost. It ignores reasons of ranks that this rank takes for lost.
func (c *Core) heardReason(h *wire.Header, text []byte) {
	r, _ := c.env.reasonIn(h) // Body has checked it
	if r.about == c.env.Rank && r.origin != c.env.Rank && c.fate.isLoss(&r) && !c.members.Lost(r.origin) {
		kind := c.env.kindOf(r.cause)
		r.text = string(text)
		c.exclude(kind, &heardError{r, kind}, false)
	}
}

// exclude fails the core because the others have taken this rank for lost. kind is the error, and
// why has its text. Calls that wait for an agreement on lost ranks fail with this error instead.
func (c *Core) exclude(kind, why error, tell bool) {
	if c.agree.out != nil || c.fate.closing {
		return
	}
	err := &RankError{Rank: c.env.Rank, Err: why}
	if c.settling() {
		c.agree.settled, c.fate.err = true, err
	}
	c.agree.out = err
	c.fate.fail(err, tell)
	if c.env.Lost != nil {
		c.env.Lost(c.env.Rank, fmt.Errorf("%w, and other ranks have gone on without this one", kind))
	}
}

// settling reports whether failed calls still wait for the agreement on lost ranks.
func (c *Core) settling() bool {
	return !c.agree.settled && c.fate.err != nil && !c.fate.closing && errors.Is(c.fate.err, ErrPeerLost) && c.fate.why.about != c.env.Rank
}

// ripe reports whether the ranks have agreed why calls fail, and the calls have not failed yet.
// They fail at the next tick, when all arrived frames have been taken: a rank that was stopped may
// find in those frames that the others have gone on without it.
func (c *Core) ripe() bool { return c.settling() && c.agree.LossesKnown() }

// settle fails the calls with the ranks that are known to be lost now.
func (c *Core) settle() {
	c.agree.settled = true
	known := c.agree.LossesKnown()
	lost, came, in := c.agree.Losses()
	if why := &c.fate.why; !known && c.env.kindOf(why.cause) == ErrPeerSilent {
		lost.Add(why.about, true)
	}
	ranks := lost.Lost.List()
	for _, rank := range ranks {
		if !c.members.Gone(rank) {
			c.fate.recordLoss(rank, lossOf(lost, rank))
		}
	}
	if known && len(ranks) > 0 {
		c.fate.err = &LostError{Ranks: ranks, Silent: lost.Silent.List(), Came: came, Answers: in, Err: c.fate.err}
	}
}

// agreeing reports whether this rank waits for others to agree.
func (c *Core) agreeing() bool {
	return c.settling() || c.agree.out == nil && !c.agree.Confirmed()
}

const (
	longest   = Time(2e9) // greatest time that failed calls wait for a silent rank, if Config.Silence is 0
	reminders = 8         // how often awaited ranks are asked within that time, unless Config.Stall is longer
)

// patience is how long failed calls wait for silent ranks, counted from the last time that a rank
// was found to have gone. Further lost ranks are found within this time, even if the watch begins
// only now.
func (c *Core) patience() Time {
	if c.env.Silence == 0 {
		return longest
	}
	return c.watch.Patience()
}

// tickAgreements does all due work of agreements.
func (c *Core) tickAgreements(now Time) {
	if c.updateAgreements(); c.ripe() {
		c.settle()
	}
	if !c.agreeing() {
		c.agree.ask = 0
		return
	}
	c.watch.Want()
	c.remind(now)
	if !c.settling() {
		return
	}
	gone, _ := c.agree.Said(0)
	if n := len(gone.List()); c.agree.until == 0 || n > c.agree.missed {
		c.agree.missed, c.agree.until = n, now+c.patience()
	}
	if now >= c.agree.until {
		c.settle()
	}
}

// remind asks the awaited ranks from time to time, so that this rank finds a dead rank even if it
// puts nothing else to it. remind also tells the watched ranks: the last of them is the next rank
// alive.
func (c *Core) remind(now Time) {
	a := &c.agree
	if a.ask > 0 && now < a.ask {
		return
	}
	late := a.ask > 0
	if a.ask = now + max(c.env.Stall, longest/reminders); !late {
		return
	}
	for _, rank := range a.Doubted((*facts)(c)) {
		c.env.control(rank, wire.FrameWatch, 0, 0, 0)
	}
	a.Remind(c.watch.Targets())
	c.sendAgreements()
}

// Vote begins the process's next agreement with vote v, or continues one whose outcome it has not
// taken. It returns the agreement's number. It may be called before and after the core has failed.
func (c *Core) Vote(v Vote) (number uint64) {
	number = c.agree.Begin((*facts)(c))
	if c.agree.out == nil {
		c.agree.Vote(v, (*facts)(c))
		c.updateAgreements()
	}
	c.sendAgreements()
	return number
}

// Outcome returns the outcome of an agreement; ok is false while it is not known.
func (c *Core) Outcome(number uint64) (o Outcome, ok bool) { return c.agree.Outcome(number) }

// Awaited returns the ranks that this rank waits for in an agreement: see [agree.Agreements].
func (c *Core) Awaited(number uint64) (ranks []int, votes bool) { return c.agree.Awaited(number) }

// Confirmed reports whether this rank may close. All remaining ranks must know the last outcome
// that this rank knows, so that no rank agrees on anything else. If losses are seen, this rank must
// also have finished repeating its last signals.
func (c *Core) Confirmed() bool {
	return c.agree.Confirmed() && (c.fate.err != nil || !c.ops.loss.Losing() || !c.ops.loss.Repeating())
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
		c.exclude(err, err, true)
	case !c.members.Gone(rank):
		c.fate.lose(rank, err)
		c.updateAgreements()
	}
}

// Settle fails calls at once because of a lost rank, although the ranks have not agreed which ranks
// are lost.
func (c *Core) Settle() {
	if c.settling() {
		c.updateAgreements()
		c.settle()
	}
}

// LostError says which ranks are lost. The list is the same at every remaining rank, unless a rank
// did not answer in time when they agreed on it.
type LostError struct {
	Ranks  []int  // all lost ranks, ascending
	Silent []int  // the Ranks that have given no sign of life, and may still be alive
	Came   []Came // for those of Ranks that have published and are among the four lowest that have gone

	// Answers says for each open question which answers the remaining ranks have. If many questions
	// were open, it lists the questions of the lowest ranks.
	Answers []Answers

	Err error // how this rank has learnt of the loss
}

func (e *LostError) Error() string {
	text := e.Err.Error()
	if len(e.Ranks) > 1 {
		text = fmt.Sprintf("ranks %s are lost: %s", words.List(e.Ranks), text)
	}
	for _, c := range e.Came {
		if c.Least < c.Most {
			text += fmt.Sprintf("; the remaining ranks do not all have the same messages of rank %d: from %d to %d of them", c.Rank, c.Least, c.Most)
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
