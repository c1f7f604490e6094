package core

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Ranks that run different things under one number find that out by fingerprints, which are
// numbers. The rank that has found it tells the other one, in words, what it has called itself
// (FrameClash). That one knows what it has called, and so what both sides have. Several pairs may
// find out at the same time, and all ranks are to get the same error: so it tells the lowest
// rank that is there (FrameDispute), which fails with the first that it is told, and tells all.
// While all goes well none of this is sent. If it takes long, since one of them computes or is
// gone, a rank fails with what it knows: after a second, or the time of Config.Stall if that is
// longer, who knows both sides, and after twice that who knows one.

// dispute is a mismatch that this rank knows of and has not failed by.
type dispute struct {
	open  bool
	whole bool // text is of both sides
	about int
	text  string // as far as this rank knows
	until Time   // when it waits no longer; 0: from the next tick on for a while
}

// What a FrameClash is about, in its Arg.
const (
	overOperation = iota
	overCasts
	subjects
)

// clash takes note that another rank has called something else, by its fingerprint, and tells
// it what this one has.
func (f *failure) clash(subject uint32, seq uint64, mine string, other int, theirs uint32) {
	if f.err != nil || f.dispute.open {
		return
	}
	f.dispute = dispute{open: true, about: other, text: sides(subject, seq, f.Rank, mine, other, "something else, and has not said what")}
	if f.members.gone(other) {
		f.unheard(other)
		return
	}
	fr := f.fillControl(wire.FrameClash, seq, theirs, subject)
	fr.Body = []byte(clip(mine, wire.MaxControl/3))
	fr.Len = len(fr.Body)
	f.put(other, fr)
}

// unheard has no more words expected of a rank that has left.
func (f *failure) unheard(rank int) {
	if d := &f.dispute; f.disputes() && !d.whole && d.about == rank {
		f.propose(rank, d.text)
	}
}

// sides says what two ranks have called.
func sides(subject uint32, seq uint64, a int, ofA string, b int, ofB string) string {
	if a > b {
		a, ofA, b, ofB = b, ofB, a, ofA
	}
	what, verb := fmt.Sprintf("operation %d", seq), "called"
	if subject == overCasts {
		what, verb = "rootless messages", "uses"
	}
	return fmt.Sprintf("%s: rank %d %s %s, rank %d %s %s", what, a, verb, ofA, b, verb, ofB)
}

// clashed takes the words of a rank that this one has called something else than.
func (c *Core) clashed(h *wire.Header, words []byte) {
	mine := c.env.CastWords
	if h.Arg == overOperation {
		mine = c.ops.words(h.Seq, h.Print)
	}
	c.fate.propose(c.env.Rank, sides(h.Arg, h.Seq, h.From, string(words), c.env.Rank, clip(mine, wire.MaxControl/3)))
}

// propose has the lowest rank that is there fail by what is known of a mismatch, because of a
// rank.
func (f *failure) propose(about int, text string) {
	if f.err != nil {
		return
	}
	judge := 0
	for judge < f.Rank && f.members.gone(judge) {
		judge++
	}
	if judge == f.Rank {
		f.decide(about, text)
		return
	}
	f.dispute.open, f.dispute.whole, f.dispute.about, f.dispute.text = true, true, about, text
	fr := f.fillControl(wire.FrameDispute, 0, 0, 0)
	fr.Slot = ir.Slot(about)
	fr.Body = []byte(clip(text, wire.MaxControl))
	fr.Len = len(fr.Body)
	f.put(judge, fr)
}

// decide fails the core by a mismatch. All ranks that are told have the same text.
func (f *failure) decide(about int, text string) {
	if f.err == nil {
		e := mismatch(about, text)
		why := f.reasonOf(e.Err)
		why.about = about
		f.end(e, why, true)
	}
}

func mismatch(about int, text string) *RankError {
	return &RankError{Rank: about, Err: fmt.Errorf("%w: %s", ErrMismatch, text)}
}

// tick ends waiting for others that takes too long: later where there is less to tell.
func (f *failure) tick(now Time) {
	d := &f.dispute
	if f.err != nil || !d.open {
		return
	}
	if d.until == 0 {
		d.until = now + max(f.Stall, suspicion)
		if !d.whole {
			d.until += max(f.Stall, suspicion)
		}
	}
	if now >= d.until {
		f.decide(d.about, d.text)
	}
}

// disputes reports whether the core knows of a mismatch that it has not failed by.
func (f *failure) disputes() bool { return f.err == nil && f.dispute.open }

// due returns when tick has something to do next.
func (f *failure) due() Time {
	if !f.disputes() {
		return never
	}
	return f.dispute.until
}

// with adds to err the mismatch that the core knows of, if there is one: it is why nothing
// moves.
func (f *failure) with(err error) error {
	if !f.disputes() {
		return err
	}
	return fmt.Errorf("%w; %w", mismatch(f.dispute.about, f.dispute.text), err)
}

// history is the last different operations of a rank, by their fingerprints, so that it can say
// in words what they were.
type history [64]struct {
	print uint32
	plan  *Plan
	n     int
}

// note notes an operation that begins. Fingerprints are odd.
func (c *history) note(o *op) {
	e := &c[o.print/2%uint32(len(c))]
	e.print, e.plan, e.n = o.print, o.plan, o.n
}

// words says what operation seq was, under a fingerprint that this rank has told.
func (ops *operations) words(seq uint64, fingerprint uint32) string {
	if o := ops.lookup(seq); o != nil && o.print == fingerprint {
		return o.plan.words(o.n)
	}
	if e := &ops.history[fingerprint/2%uint32(len(ops.history))]; e.plan != nil && e.print == fingerprint {
		return e.plan.words(e.n)
	}
	return "something that it no longer knows"
}
