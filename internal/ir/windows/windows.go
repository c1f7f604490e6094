// Package windows says in which windows the signals of a barrier may be flags (Bierbaum, Wassen,
// Lankes, Bemmerl: SCI Collectives, sections 4.1 and 4.2).
//
// A flag is in the window of the rank that waits for it. If one rule puts a signal to several
// ranks, the flag is in the window of the rank that puts it instead, and the other ranks look
// there. This is a post. A rank's program alone says which of its puts are posts. So the ranks
// agree on the places without a message.
//
// Places say where flags may be. Ranks that cannot reach each other by windows use no flags between
// them. The ranks that the sender of a post reaches take part in it.
package windows

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// Places are where the signals of one rank may be. The zero value has no places.
type Places struct {
	// Awaits are the signals that other ranks put to the rank, in ascending order, each once.
	Awaits []Await
	// Posts are the signals that the rank puts to several ranks at once, in the order of its rules.
	// Each signal is in at most one of them.
	Posts []Post
}

// Await says where a signal may be for which the rank waits.
type Await struct {
	Signal int  // index of the slot
	From   int  // the rank that puts it
	Posted bool // the flag is in the window of From; otherwise in the rank's own
}

// Post is a signal whose flag is in the window of the rank that puts it.
type Post struct {
	Signal int   // index of the slot
	To     []int // the ranks to which one rule puts it, one directly after the other
}

// Check returns an error unless the places can belong to a rank with program own in a barrier among
// the given number of ranks. All ranks and signals must exist, and each post must consist of
// consecutive puts of one signal.
func (p *Places) Check(own *ir.Program, ranks int) error {
	for i, a := range p.Awaits {
		switch {
		case i > 0 && a.Signal <= p.Awaits[i-1].Signal:
			return fmt.Errorf("flags of rank %d: signal %d comes after signal %d", own.Rank, a.Signal, p.Awaits[i-1].Signal)
		case a.From < 0 || a.From >= ranks || a.From == own.Rank:
			return fmt.Errorf("flags of rank %d: signal %d is from rank %d of %d", own.Rank, a.Signal, a.From, ranks)
		case a.Signal < 0 || a.Signal >= own.Signals:
			return fmt.Errorf("flags of rank %d: signal %d of %d has no line", own.Rank, a.Signal, own.Signals)
		}
	}
	for i, post := range p.Posts {
		if slices.ContainsFunc(p.Posts[:i], func(q Post) bool { return q.Signal == post.Signal }) || !post.isPutBy(own) {
			return fmt.Errorf("flags of rank %d: it does not post signal %d to ranks %v", own.Rank, post.Signal, post.To)
		}
	}
	return nil
}

// isPutBy reports whether the post consists of consecutive puts of own.
func (p *Post) isPutBy(own *ir.Program) bool {
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
