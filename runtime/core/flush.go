package core

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
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

// flush asks about all messages of this rank, and returns their number.
func (rl *rootless) flush() uint64 {
	o := rl.own.origin
	o.question.wanted = o.next
	rl.inquire(o, rl.Rank)
	return o.next
}

// flushed reports whether the first n messages of this rank have arrived everywhere.
func (rl *rootless) flushed(n uint64) bool { return rl.own.origin.question.answered >= n }

// inquire asks the children about the wanted messages that have arrived here.
func (rl *rootless) inquire(o *origin, rank int) {
	q := &o.question
	n := min(q.wanted, o.next)
	if n <= q.asked {
		return
	}
	q.asked = n
	for i := range o.branches {
		if b := &o.branches[i]; !b.gone() {
			rl.ask(b, rank, n)
		}
	}
	rl.answer(o, rank)
}

// ask asks the rank of a branch about the first n messages.
func (rl *rootless) ask(b *branch, rank int, n uint64) {
	switch {
	case b.here >= n:
	case b.state == branchFoster && !rl.hears(b.rank):
		rl.severed("flush", b.via, fmt.Sprintf("whether messages of rank %d have come to rank %d is not known", rank, b.rank))
	default:
		f := rl.fillControl(wire.FrameFlush, n, rl.PublishPrint, uint32(rank))
		f.Slot = ir.Slot(b.via)
		rl.put(b.rank, f)
	}
}

// answer tells all ranks that have asked how many messages have arrived in the whole sub-tree, if
// there are more than before.
func (rl *rootless) answer(o *origin, rank int) {
	q := &o.question
	n := q.asked
	for i := range o.branches {
		if b := &o.branches[i]; !b.gone() {
			n = min(n, b.here)
		}
	}
	if n <= q.answered || rl.fate.err != nil {
		return
	}
	q.answered = n
	for _, by := range q.by {
		rl.reply(by, rank, n)
	}
}

func (rl *rootless) reply(to, rank int, n uint64) {
	if n > 0 && !rl.members.Gone(to) {
		rl.control(to, wire.FrameFlushed, n, rl.PublishPrint, uint32(rank))
	}
}

// questioned takes a question. It comes from the rank that sends the messages, after them, or from
// a rank in its place, if it has left. A question of the rank that has left may still come later.
func (rl *rootless) questioned(h *wire.Header) {
	if h.Print != rl.PublishPrint {
		rl.fate.disagree(h)
		return
	}
	if !rl.aboutCasts(h) || int(h.Arg) == rl.Rank || int(h.Slot) >= rl.Size || int(h.Slot) == rl.Rank {
		rl.fate.violation(h, "question about messages of origin %d that come by rank %d", h.Arg, h.Slot)
		return
	}
	o, via := rl.origin(int(h.Arg)), int(h.Slot)
	if o.from >= 0 && o.from != via || via == h.From && h.Seq > o.next {
		rl.fate.violation(h, "question about %d messages of origin %d that come by rank %d", h.Seq, h.Arg, via)
		return
	}
	q := &o.question
	if !slices.Contains(q.by, h.From) {
		q.by = append(q.by, h.From)
		rl.reply(h.From, int(h.Arg), q.answered)
	}
	q.via, q.wanted = via, max(q.wanted, h.Seq)
	rl.missed(o, int(h.Arg))
	rl.inquire(o, int(h.Arg))
}

// answered takes an answer.
func (rl *rootless) answered(h *wire.Header) {
	if !rl.aboutCasts(h) {
		rl.fate.violation(h, "answer about messages of origin %d", h.Arg)
		return
	}
	o := rl.origin(int(h.Arg))
	b := o.branchTo(h.From)
	if b == nil || h.Seq > o.next {
		rl.fate.violation(h, "answer about %d messages of origin %d", h.Seq, h.Arg)
		return
	}
	b.here = max(b.here, h.Seq)
	rl.answer(o, int(h.Arg))
}

// aboutCasts reports whether a control frame is about the messages of an existing rank, along the
// same trees.
func (rl *rootless) aboutCasts(h *wire.Header) bool {
	return int(h.Arg) < rl.Size && h.Print == rl.PublishPrint
}
