// Package windows says in whose windows the signals of a barrier may stand as flags
// (Bierbaum, Wassen, Lankes, Bemmerl: SCI Collectives, sections 4.1 and 4.2).
//
// A flag stands where it is looked at: in the window of the rank that waits for it, or, if
// one rule puts a signal to several ranks, once in the window of the rank that puts it, and
// all of them look there. That is a post. Which of a rank's puts are posts follows from its
// program alone, so that who puts a signal and who waits for it agree without a message.
//
// Places are what is possible. Ranks that do not reach each other by windows use none of
// them, and of a post those take part that its sender reaches.
package windows

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// Places are where the signals of one rank may stand. The zero Places have none.
type Places struct {
	// Awaits are the signals that others put to the rank, in order, each once.
	Awaits []Await
	// Posts are the signals that the rank puts to several at once, in the order of its
	// rules. Each signal is in one of them at most.
	Posts []Post
}

// Await is where a signal may stand that a rank waits for.
type Await struct {
	Signal int  // index of the slot
	From   int  // the rank that puts it
	Posted bool // it stands in the window of From, else in the own one
}

// Post is a signal that stands in the window of who puts it.
type Post struct {
	Signal int   // index of the slot
	To     []int // the ranks that one rule puts it to, one directly after the other
}

// Check returns an error unless the places can be those of a rank of a barrier of so many
// ranks whose program is own: all ranks and signals exist, and what is posted are puts of
// one signal that follow each other.
func (p *Places) Check(own *ir.Program, ranks int) error {
	for i, a := range p.Awaits {
		switch {
		case i > 0 && a.Signal <= p.Awaits[i-1].Signal:
			return fmt.Errorf("flags of rank %d: signal %d comes after signal %d", own.Rank, a.Signal, p.Awaits[i-1].Signal)
		case a.From < 0 || a.From >= ranks || a.From == own.Rank:
			return fmt.Errorf("flags of rank %d: signal %d is from rank %d of %d", own.Rank, a.Signal, a.From, ranks)
		case a.Signal < 0 || a.Signal >= own.Signals:
			return fmt.Errorf("flags of rank %d: signal %d of %d stands in no line", own.Rank, a.Signal, own.Signals)
		}
	}
	for i, post := range p.Posts {
		if slices.ContainsFunc(p.Posts[:i], func(q Post) bool { return q.Signal == post.Signal }) || !post.of(own) {
			return fmt.Errorf("flags of rank %d: it does not post signal %d to ranks %v", own.Rank, post.Signal, post.To)
		}
	}
	return nil
}

// of reports whether the post is some of the puts of own, one directly after the other.
func (p *Post) of(own *ir.Program) bool {
	isNext := func(a ir.Action, to int) bool {
		return a.Op == ir.Put && a.Slot.Kind() == ir.KindSignal && a.Slot.Index() == p.Signal && int(a.To) == to
	}
	for _, r := range own.Rules {
		for at := range r.Do {
			if rest := r.Do[at:]; len(p.To) > 0 && len(p.To) <= len(rest) && slices.EqualFunc(rest[:len(p.To)], p.To, isNext) {
				return true
			}
		}
	}
	return false
}
