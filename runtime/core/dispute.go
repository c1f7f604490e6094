package core

import (
	"encoding/binary"
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Ranks that run different things under one number find that out by fingerprints, which are
// numbers. The rank that finds it out tells the other one in words what it has called itself, and its
// fingerprints of the operations before (FrameClash). A fingerprint covers all operations up to its
// own, so the other rank sees which was the first that differed. If that is an earlier one, it answers
// with its own words for that one. Otherwise it knows what both sides have called. Several pairs may
// find out at the same time, and all ranks are to get the same error. So this rank tells the lowest
// rank that has not left (FrameDispute). That one fails with the first words that it is told, and
// tells all ranks.
//
// While all goes well none of this is sent. Another rank may compute, or be gone, and not answer. A
// rank that knows both sides then fails with what it knows after a second, or after Config.Stall if
// that is longer. A rank that knows one side waits twice as long.

// dispute is a mismatch that this rank knows of and by which it has not failed yet.
type dispute struct {
	open  bool
	whole bool // text has the words of both sides
	about int
	text  string // what this rank knows
	until Time   // when it waits no longer; 0: a while after the next tick
}

// What a FrameClash is about, in its Arg.
const (
	overOperation = iota
	overCasts
	subjects
)

// clash notes that another rank has called something else in operation seq, whose fingerprint by
// itself is theirs there. It tells that rank what this one has called, in the words mine, and the
// fingerprints of the operations before, the last first.
func (f *failure) clash(subject uint32, seq uint64, mine string, before []uint32, other int, theirs uint32) {
	if f.err != nil || f.dispute.open {
		return
	}
	f.dispute = dispute{open: true, about: other, text: sides(subject, seq, f.Rank, mine, other, "something else, then or before, and has not said what")}
	if f.members.gone(other) {
		f.unheard(other)
		return
	}
	f.tellClash(subject, seq, mine, before, other, theirs)
}

func (f *failure) tellClash(subject uint32, seq uint64, mine string, before []uint32, other int, theirs uint32) {
	fr := f.fillControl(wire.FrameClash, seq, theirs, subject)
	fr.Body = clashBody(mine, before)
	fr.Len = len(fr.Body)
	f.put(other, fr)
}

// clashBody is the body of a FrameClash: the length of the words, the words, and the fingerprints.
func clashBody(words string, before []uint32) []byte {
	words = clip(words, wire.MaxControl/3)
	b := append(binary.LittleEndian.AppendUint16(nil, uint16(len(words))), words...)
	for _, p := range before {
		b = binary.LittleEndian.AppendUint32(b, p)
	}
	return b
}

// clashIn reads such a body; ok is false if it is none.
func clashIn(body []byte) (words string, before []uint32, ok bool) {
	if len(body) < 2 {
		return "", nil, false
	}
	n, rest := int(binary.LittleEndian.Uint16(body)), body[2:]
	if n > len(rest) || (len(rest)-n)%4 != 0 {
		return "", nil, false
	}
	words, rest = string(rest[:n]), rest[n:]
	for ; len(rest) > 0; rest = rest[4:] {
		before = append(before, binary.LittleEndian.Uint32(rest))
	}
	return words, before, true
}

// unheard ends waiting for the words of a rank that has left.
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
	if subject == overOperation && ofA == ofB {
		ofB = "the same, after something else" // longer ago than they remember
	}
	return fmt.Sprintf("%s: rank %d %s %s, rank %d %s %s", what, a, verb, ofA, b, verb, ofB)
}

// clashed takes the words of a rank that this one has called something else than.
func (c *Core) clashed(h *wire.Header, body []byte) {
	words, before, ok := clashIn(body)
	if !ok {
		c.fate.violation(h, "mismatch in %d bytes", len(body))
		return
	}
	mine := c.env.CastWords
	if h.Arg == overOperation {
		if first, theirs := c.ops.parted(h.Seq, before); first < h.Seq {
			c.ops.askFirst(first, h.From, theirs)
			return
		}
		mine = c.ops.words(h.Seq, h.Print)
	}
	c.fate.propose(c.env.Rank, sides(h.Arg, h.Seq, h.From, words, c.env.Rank, clip(mine, wire.MaxControl/3)))
}

// parted returns the first operation in which another rank has called something else than this one,
// as far as that can be known, and its fingerprint there. They differ in operation seq, and before
// are its fingerprints of those before that, the last first.
func (ops *operations) parted(seq uint64, before []uint32) (first uint64, theirs uint32) {
	for _, theirPrint := range before {
		mine, ok := ops.past(seq - 1)
		if !ok || mine == theirPrint {
			break
		}
		seq, theirs = seq-1, theirPrint
	}
	return seq, theirs
}

// askFirst answers a rank that has told of a mismatch with what this one has called in the first
// operation that differed, of which that rank knows its own side.
func (ops *operations) askFirst(first uint64, other int, theirs uint32) {
	if ops.fate.dispute.open || ops.fate.err != nil {
		ops.fate.tellClash(overOperation, first, ops.words(first, 0), ops.before(first), other, ops.own(first, theirs))
		return
	}
	ops.disagree(first, other, theirs)
}

// propose has the lowest rank that has not left fail with a mismatch, which is about a rank.
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
	d := &f.dispute
	if d.until != 0 && !d.whole {
		d.until -= f.doubt() // it was to wait for the other side
	}
	d.open, d.whole, d.about, d.text = true, true, about, text
	fr := f.fillControl(wire.FrameDispute, 0, 0, 0)
	fr.Slot = ir.Slot(about)
	fr.Body = []byte(clip(text, wire.MaxControl))
	fr.Len = len(fr.Body)
	f.put(judge, fr)
}

// decide fails the core with a mismatch and tells all ranks, which then have the same text.
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

// tick ends waiting for others that takes too long. It waits longer where only one side is known.
func (f *failure) tick(now Time) {
	d := &f.dispute
	if f.err != nil || !d.open {
		return
	}
	if d.until == 0 {
		d.until = now + f.doubt()
		if !d.whole {
			d.until += f.doubt()
		}
	}
	if now >= d.until {
		f.decide(d.about, d.text)
	}
}

// doubt is for how long a rank waits for another one to tell of a mismatch.
func (f *failure) doubt() Time { return max(f.Stall, suspicion) }

// disputes reports whether the core knows of a mismatch by which it has not failed yet.
func (f *failure) disputes() bool { return f.err == nil && f.dispute.open }

// due returns when tick has something to do next.
func (f *failure) due() Time {
	if !f.disputes() {
		return never
	}
	return f.dispute.until
}

// with adds to err the mismatch that the core knows of, if there is one: nothing moves because of it.
func (f *failure) with(err error) error {
	if !f.disputes() {
		return err
	}
	return fmt.Errorf("%w; %w", mismatch(f.dispute.about, f.dispute.text), err)
}

// history is what a rank has called, so that it can compare that with what other ranks have called, and
// say in words what it was.
type history struct {
	prints [128]uint32  // of the last operations, by their numbers
	calls  [64]pastCall // the last different ones, each in the place of its own fingerprint or, if another one has taken that, in the next
	runs   [32]run      // the last runs of the same call, by their numbers
	run    uint64       // the number of the newest; 0: there is none
}

// run is operations in a row that were the same call. A rank that repeats one call so remembers it
// however far it has got: roots that do not wait for each other may be thousands of operations apart.
type run struct {
	first uint64 // operation
	call  pastCall
}

// pastCall is an operation with blocks of n bytes, or of the lengths of which n is the key.
type pastCall struct {
	own  uint32 // its fingerprint, whatever came before
	plan *Plan  // nil: there was none
	n    int
}

// note notes an operation that begins. Fingerprints are odd.
func (c *history) note(o *op) {
	c.prints[o.seq%uint64(len(c.prints))] = o.print
	own := o.plan.print(o.key)
	if c.runs[c.run%uint64(len(c.runs))].call.own != own {
		c.run++
		c.runs[c.run%uint64(len(c.runs))] = run{o.seq, pastCall{own, o.plan, o.key}}
	}
	e := &c.calls[place(own)]
	if e.own != own {
		c.calls[place(own+2)] = *e
		*e = pastCall{own, o.plan, o.key}
	}
}

func place(own uint32) uint32 { return own / 2 % uint32(len(history{}.calls)) }

// call returns the operation that has a fingerprint by itself; nil if it is not remembered any more.
func (c *history) call(own uint32) *pastCall {
	for _, at := range []uint32{own, own + 2} {
		if e := &c.calls[place(at)]; e.own == own && e.plan != nil {
			return e
		}
	}
	return nil
}

// at returns the call that operation seq was, which has begun; nil if it is not remembered any more.
func (c *history) at(seq uint64) *pastCall {
	for n := c.run; n > 0 && c.run-n < uint64(len(c.runs)); n-- {
		if r := &c.runs[n%uint64(len(c.runs))]; r.first <= seq {
			return &r.call
		}
	}
	return nil
}

// past returns the fingerprint of an operation that has begun; ok is false if it has not, or is not
// remembered any more.
func (ops *operations) past(seq uint64) (fingerprint uint32, ok bool) {
	h := &ops.history
	return h.prints[seq%uint64(len(h.prints))], seq > 0 && seq <= ops.seq && ops.seq-seq < uint64(len(h.prints))
}

// before returns the fingerprints of the operations before seq that are remembered, the last first.
func (ops *operations) before(seq uint64) (prints []uint32) {
	for seq--; seq > 0; seq-- {
		p, ok := ops.past(seq)
		if !ok {
			break
		}
		prints = append(prints, p)
	}
	return prints
}

// own returns the fingerprint that operation seq has by itself, at a rank where it is fingerprint and
// which has called the same as this one before; 0 if that is not known.
func (ops *operations) own(seq uint64, fingerprint uint32) uint32 {
	if seq == 1 {
		return following(0, fingerprint)
	}
	before, ok := ops.past(seq - 1)
	if !ok {
		return 0
	}
	return following(before, fingerprint)
}

// words says what operation seq was. own is what it is by itself, as far as another rank can tell.
func (ops *operations) words(seq uint64, own uint32) string {
	if o := ops.lookup(seq); o != nil {
		return o.words()
	}
	if seq <= ops.seq {
		if e := ops.history.at(seq); e != nil {
			return e.plan.words(e.n)
		}
	}
	if mine, ok := ops.past(seq); ok {
		if known := ops.own(seq, mine); known != 0 {
			own = known
		}
	}
	if e := ops.history.call(own); e != nil {
		return e.plan.words(e.n)
	}
	return "something that it no longer knows"
}
