package publish

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// An origin that wants to know whether its messages have arrived everywhere asks its children in
// their tree. The question follows the messages down the tree, so a rank that gets it has the
// messages. A rank answers its parent when all its children have answered. A message has arrived
// when it waits at a rank for its process: it then needs no other rank. So a rank may flush before
// it takes the messages of others.

// question is the state of questions about the messages of one origin at this rank.
type question struct {
	by       []int  // ranks that have asked: the rank that sends the messages here, and others in its place
	via      int    // the rank that sends the messages here
	wanted   uint64 // the question is about messages before this one
	asked    uint64 // the children have been asked about messages before this one
	answered uint64 // messages before this one have arrived in the whole sub-tree, and all ranks in by know it
}

// Flush implements [Messages].
func (t *tree) Flush() uint64 {
	o := t.own.origin
	o.question.wanted = o.next
	t.inquire(o, t.Rank)
	return o.next
}

// Flushed implements [Messages].
func (t *tree) Flushed(n uint64) bool { return t.own.origin.question.answered >= n }

// inquire asks the children about the wanted messages that have arrived here.
func (t *tree) inquire(o *origin, rank int) {
	q := &o.question
	n := min(q.wanted, o.next)
	if n <= q.asked {
		return
	}
	q.asked = n
	for i := range o.branches {
		if b := &o.branches[i]; !b.gone() {
			t.askBranch(b, rank, n)
		}
	}
	t.answer(o, rank)
}

// askBranch asks the rank of a branch about the first n messages.
func (t *tree) askBranch(b *branch, rank int, n uint64) {
	switch {
	case b.here >= n:
	case b.state == branchFoster && !t.hears(b.rank):
		t.host.Severed("flush", b.via, fmt.Sprintf("it is not known whether messages of rank %d have come to rank %d", rank, b.rank))
	default:
		t.host.Put(b.rank, t.control(wire.FrameFlush, n, b.via, rank))
	}
}

// answer tells all ranks that have asked how many messages have arrived in the whole sub-tree, if
// there are more than before.
func (t *tree) answer(o *origin, rank int) {
	q := &o.question
	n := q.asked
	for i := range o.branches {
		if b := &o.branches[i]; !b.gone() {
			n = min(n, b.here)
		}
	}
	if n <= q.answered || t.host.Failed() {
		return
	}
	q.answered = n
	for _, by := range q.by {
		t.reply(by, rank, n)
	}
}

func (t *tree) reply(to, rank int, n uint64) {
	if n > 0 && !t.members.Gone(to) {
		t.host.Put(to, t.control(wire.FrameFlushed, n, 0, rank))
	}
}

// questioned takes a question. It comes from the rank that sends the messages, after them, or from
// a rank in its place, if it has left. A question of the rank that has left may still come later.
func (t *tree) questioned(h *wire.Header) {
	if h.Print != t.Print {
		t.host.Disagree(h)
		return
	}
	if !t.isAbout(h) || int(h.Arg) == t.Rank || int(h.Slot) >= t.Size || int(h.Slot) == t.Rank {
		t.host.Violation(h, "unexpected question about messages of origin %d that come by rank %d", h.Arg, h.Slot)
		return
	}
	o, via := t.origin(int(h.Arg)), int(h.Slot)
	if o.from >= 0 && o.from != via || via == h.From && h.Seq > o.next {
		t.host.Violation(h, "unexpected question about %d messages of origin %d that come by rank %d", h.Seq, h.Arg, via)
		return
	}
	q := &o.question
	if !slices.Contains(q.by, h.From) {
		q.by = append(q.by, h.From)
		t.reply(h.From, int(h.Arg), q.answered)
	}
	q.via, q.wanted = via, max(q.wanted, h.Seq)
	t.missed(o, int(h.Arg))
	t.inquire(o, int(h.Arg))
}

// answered takes an answer.
func (t *tree) answered(h *wire.Header) {
	if !t.isAbout(h) {
		t.host.Violation(h, "unexpected answer about messages of origin %d", h.Arg)
		return
	}
	o := t.origin(int(h.Arg))
	b := o.branchTo(h.From)
	if b == nil || h.Seq > o.next {
		t.host.Violation(h, "unexpected answer about %d messages of origin %d", h.Seq, h.Arg)
		return
	}
	b.here = max(b.here, h.Seq)
	t.answer(o, int(h.Arg))
}

// isAbout reports whether a control frame is about the messages of an existing rank, along the
// same trees.
func (t *tree) isAbout(h *wire.Header) bool {
	return int(h.Arg) < t.Size && h.Print == t.Print
}
