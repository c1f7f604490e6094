package core

import (
	"encoding/binary"
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core/presence"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Ranks that run different operations under one number find that out by fingerprints, which are
// numbers. The rank that finds it tells the other one its own call in words, and its fingerprints
// of earlier operations (FrameClash). A fingerprint covers all operations up to its own, so the
// other rank sees which operation was the first that differed. If that is an earlier one, it
// answers with its own words for that one. Otherwise it knows both calls. Several pairs may find a
// mismatch at the same time, but all ranks must get the same error. So a rank that knows both calls
// tells the lowest rank that has not left (FrameDispute). That rank fails with the first words that
// it gets, and tells all ranks.
//
// Without a mismatch no such frame is sent. Another rank may compute, or be gone, and not answer. A
// rank that knows both sides then fails with those words after a second, or after Config.Stall if
// that is longer. A rank that knows one side waits twice as long.

// dispute is a mismatch that this rank knows of but has not failed by yet.
type dispute struct {
	open  bool
	whole bool // text has the calls of both sides
	about int
	text  string // the mismatch in words, as far as this rank knows
	until Time   // when this rank fails anyway; 0: set at the next tick
}

// The values of Arg in a FrameClash: the subject of the mismatch.
const (
	overOperation = iota
	overPublish
	subjects
)

// clash records that another rank has called something else in operation seq. theirs is that
// operation's own fingerprint at the other rank. clash sends that rank this rank's call, in the
// words mine, and the fingerprints of the operations before, the last first.
func (f *failure) clash(subject uint32, seq uint64, mine string, before []uint32, other int, theirs uint32) {
	if f.err != nil || f.dispute.open {
		return
	}
	f.dispute = dispute{open: true, about: other, text: sides(subject, seq, f.Rank, mine, other, "something else, then or before, and has not said what")}
	if f.members.Gone(other) {
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

// clashBody returns the body of a FrameClash: the length of the words, the words, and the
// fingerprints.
func clashBody(words string, before []uint32) []byte {
	words = clip(words, wire.MaxControl/3)
	b := append(binary.LittleEndian.AppendUint16(nil, uint16(len(words))), words...)
	for _, p := range before {
		b = binary.LittleEndian.AppendUint32(b, p)
	}
	return b
}

// clashIn reads such a body; ok is false if body is invalid.
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

// unheard ends the wait for the words of a rank that has left.
func (f *failure) unheard(rank int) {
	if d := &f.dispute; f.disputes() && !d.whole && d.about == rank {
		f.propose(rank, d.text)
	}
}

// sides describes the calls of two ranks.
func sides(subject uint32, seq uint64, a int, ofA string, b int, ofB string) string {
	if a > b {
		a, ofA, b, ofB = b, ofB, a, ofA
	}
	what, verb := fmt.Sprintf("operation %d", seq), "called"
	if subject == overPublish {
		what, verb = "rootless messages", "uses"
	}
	if subject == overOperation && ofA == ofB {
		ofB = "the same, after something else" // the difference is older than their memory
	}
	return fmt.Sprintf("%s: rank %d %s %s, rank %d %s %s", what, a, verb, ofA, b, verb, ofB)
}

// clashed takes a FrameClash of a rank that has called something else.
func (c *Core) clashed(h *wire.Header, body []byte) {
	words, before, ok := clashIn(body)
	if !ok {
		c.fate.violation(h, "mismatch in %d bytes", len(body))
		return
	}
	mine := c.env.PublishWords
	if h.Arg == overOperation {
		if first, theirs := c.ops.parted(h.Seq, before); first < h.Seq {
			c.ops.askFirst(first, h.From, theirs)
			return
		}
		mine = c.ops.words(h.Seq, h.Print)
	}
	c.fate.propose(c.env.Rank, sides(h.Arg, h.Seq, h.From, words, c.env.Rank, clip(mine, wire.MaxControl/3)))
}

// parted returns the first operation in which another rank has called something else than this
// rank, as far as known, and its fingerprint there. The ranks differ in operation seq; before holds
// the other rank's fingerprints of earlier operations, the last first.
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

// askFirst answers a rank that has reported a mismatch. It sends this rank's call in the first
// operation that differed; the other rank knows its own.
func (ops *operations) askFirst(first uint64, other int, theirs uint32) {
	if ops.fate.dispute.open || ops.fate.err != nil {
		ops.fate.tellClash(overOperation, first, ops.words(first, 0), ops.before(first), other, ops.own(first, theirs))
		return
	}
	ops.disagree(first, other, theirs)
}

// propose makes the lowest rank that has not left fail with a mismatch about a rank.
func (f *failure) propose(about int, text string) {
	if f.err != nil {
		return
	}
	judge := 0
	for judge < f.Rank && f.members.Gone(judge) {
		judge++
	}
	if judge == f.Rank {
		f.decide(about, text)
		return
	}
	d := &f.dispute
	if d.until != 0 && !d.whole {
		d.until -= f.doubt() // until included the wait for the other side
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

// tick ends a wait that has taken too long. A wait with only one side known lasts longer.
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

// doubt is how long a rank waits for another rank's words about a mismatch.
func (f *failure) doubt() Time { return max(f.Stall, presence.Suspicion) }

// disputes reports whether the core knows of a mismatch that it has not failed by yet.
func (f *failure) disputes() bool { return f.err == nil && f.dispute.open }

// due returns when tick next has something to do.
func (f *failure) due() Time {
	if !f.disputes() {
		return never
	}
	return f.dispute.until
}

// with adds the known mismatch to err, if there is one: it is the reason why nothing moves.
func (f *failure) with(err error) error {
	if !f.disputes() {
		return err
	}
	return fmt.Errorf("%w; %w", mismatch(f.dispute.about, f.dispute.text), err)
}

// history remembers the calls of a rank, to compare them with those of other ranks and to describe
// them.
type history struct {
	prints [128]uint32  // fingerprints of the last operations, by number
	calls  [64]pastCall // the last different calls, each at the index of its own fingerprint, or at the next if that is taken
	runs   [32]run      // the last runs of equal calls, by number
	run    uint64       // number of the newest run; 0: none
}

// run is a sequence of equal calls. It remembers a repeated call however long the sequence: roots
// that do not wait for each other may be thousands of operations apart.
type run struct {
	first uint64 // first operation
	call  pastCall
}

// pastCall is an operation with blocks of n bytes, or with lengths whose key is n.
type pastCall struct {
	own  uint32 // its fingerprint without earlier operations
	plan *Plan  // nil: the entry is empty
	n    int
}

// note records an operation that begins. Fingerprints are odd.
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

// call returns the operation whose fingerprint is own without earlier operations, or nil if it is
// forgotten.
func (c *history) call(own uint32) *pastCall {
	for _, at := range []uint32{own, own + 2} {
		if e := &c.calls[place(at)]; e.own == own && e.plan != nil {
			return e
		}
	}
	return nil
}

// at returns the call of operation seq, which has begun, or nil if it is forgotten.
func (c *history) at(seq uint64) *pastCall {
	for n := c.run; n > 0 && c.run-n < uint64(len(c.runs)); n-- {
		if r := &c.runs[n%uint64(len(c.runs))]; r.first <= seq {
			return &r.call
		}
	}
	return nil
}

// past returns the fingerprint of operation seq. ok is false if seq has not begun or is forgotten.
func (ops *operations) past(seq uint64) (fingerprint uint32, ok bool) {
	h := &ops.history
	return h.prints[seq%uint64(len(h.prints))], seq > 0 && seq <= ops.seq && ops.seq-seq < uint64(len(h.prints))
}

// before returns the remembered fingerprints of the operations before seq, the last first.
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

// own returns the fingerprint of operation seq without earlier operations, at a rank where it is
// fingerprint and whose earlier calls were the same as here. It returns 0 if that is unknown.
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

// words describes operation seq. own is its fingerprint without earlier operations, or 0 if
// unknown.
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
