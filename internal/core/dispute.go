package core

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/core/mismatch"
	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// If two ranks run different operations under one number, their fingerprints differ. The rank that
// sees this tells the other rank its own call in words, and its fingerprints of earlier operations
// (FrameClash). A fingerprint covers all operations up to its own, so the other rank finds the
// first operation that differed. If it is an earlier one, the other rank answers with its own call
// there in words. Otherwise it knows both calls. Several pairs may find a mismatch at the same
// time, but all ranks must get the same error. So a rank that knows both calls tells the lowest
// rank that has not left (FrameDispute). That rank fails with the first words that it gets, and
// tells all ranks.
//
// Without a mismatch no such frame is sent. Another rank may compute, or be gone, and not answer. A
// rank that knows both sides then fails with these words after a second, or after Config.Stall if
// that is longer. A rank that knows one side waits twice as long.

// The values of Arg in a FrameClash: the subject of the mismatch.
const (
	overOperation = iota
	overPublish
	subjects
)

// clash records that another rank has called something else in operation seq. theirs is that
// operation's own fingerprint at the other rank. clash sends the other rank this rank's call in
// words (mine) and the fingerprints of earlier operations (before), the last first.
func (f *failure) clash(subject uint32, seq uint64, mine string, before []uint32, other int, theirs uint32) {
	if f.err != nil || f.dispute.IsOpen() {
		return
	}
	f.dispute.Open(other, sides(subject, seq, f.Rank, mine, other, mismatch.Unsaid))
	if f.members.Gone(other) {
		f.unheard(other)
		return
	}
	f.tellClash(subject, seq, mine, before, other, theirs)
}

func (f *failure) tellClash(subject uint32, seq uint64, mine string, before []uint32, other int, theirs uint32) {
	fr := f.fillControl(wire.FrameClash, seq, theirs, subject)
	fr.Body = mismatch.Encode(mine, before, mostWords)
	fr.Len = len(fr.Body)
	f.put(other, fr)
}

// mostWords is the greatest length in bytes of the words for a call.
const mostWords = wire.MaxControl / 3

// unheard ends the wait for the words of a rank that has left.
func (f *failure) unheard(rank int) {
	if f.err == nil && f.dispute.Awaits(rank) {
		_, text := f.dispute.Mismatch()
		f.propose(rank, text)
	}
}

// sides describes the calls of two ranks.
func sides(subject uint32, seq uint64, a int, ofA string, b int, ofB string) string {
	if subject == overPublish {
		return mismatch.Sides("rootless messages", "uses", a, ofA, b, ofB)
	}
	if ofA == ofB {
		of := &ofB
		if a > b {
			of = &ofA
		}
		*of = "the same, after something else" // the difference is older than their memory
	}
	return mismatch.Sides(fmt.Sprintf("operation %d", seq), "called", a, ofA, b, ofB)
}

// clashed takes a FrameClash of a rank that has called something else.
func (c *Core) clashed(h *wire.Header, body []byte) {
	words, before, ok := mismatch.Decode(body)
	if !ok {
		c.fate.violation(h, "invalid mismatch in %d bytes", len(body))
		return
	}
	mine := c.env.PublishWords
	if h.Arg == overOperation {
		if first, theirs := c.ops.history.Parted(h.Seq, before); first < h.Seq {
			c.ops.askFirst(first, h.From, theirs)
			return
		}
		mine = c.ops.describe(h.Seq, h.Print)
	}
	c.fate.propose(c.env.Rank, sides(h.Arg, h.Seq, h.From, words, c.env.Rank, clip(mine, mostWords)))
}

// askFirst answers a rank that has reported a mismatch. It sends this rank's call in the first
// operation that differed; the other rank knows its own call.
func (ops *operations) askFirst(first uint64, other int, theirs uint32) {
	if ops.fate.dispute.IsOpen() || ops.fate.err != nil {
		ops.fate.tellClash(overOperation, first, ops.describe(first, 0), ops.history.Before(first), other, ops.history.Own(first, theirs))
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
	f.dispute.Complete(about, text, f.doubt())
	fr := f.fillControl(wire.FrameDispute, 0, 0, 0)
	fr.Slot = ir.Slot(about)
	fr.Body = []byte(clip(text, wire.MaxControl))
	fr.Len = len(fr.Body)
	f.put(judge, fr)
}

// Differ fails this core and those of all ranks with a mismatch about a rank, in the given words.
// This core has failed when Err says so: soon, or after a second or Config.Stall at the latest.
func (c *Core) Differ(about int, words string) { c.fate.propose(about, words) }

// decide fails the core with a mismatch and tells all ranks, which then have the same text.
func (f *failure) decide(about int, text string) {
	if f.err == nil {
		e := mismatched(about, text)
		why := f.reasonOf(e.Err)
		why.about = about
		f.end(e, why, true)
	}
}

func mismatched(about int, text string) *RankError {
	return &RankError{Rank: about, Err: fmt.Errorf("%w: %s", ErrMismatch, text)}
}

// tick ends a wait for words that has taken too long.
func (f *failure) tick(now Time) {
	if f.disputes() && f.dispute.Tick(now, f.doubt()) {
		f.decide(f.dispute.Mismatch())
	}
}

// doubt is how long a rank waits for another rank's words about a mismatch.
func (f *failure) doubt() Time { return max(f.Stall, presence.Suspicion) }

// disputes reports whether the core knows of a mismatch that it has not failed by yet.
func (f *failure) disputes() bool { return f.err == nil && f.dispute.IsOpen() }

// with adds the known mismatch to err, if there is one: it is the reason why nothing moves.
func (f *failure) with(err error) error {
	if !f.disputes() {
		return err
	}
	return fmt.Errorf("%w; %w", mismatched(f.dispute.Mismatch()), err)
}

// describe describes operation seq of this rank, and the refused call in whose place it was made, if
// there is one: the other ranks have called the same, and succeeded. own is the operation's
// fingerprint without earlier operations, or 0 if unknown.
func (ops *operations) describe(seq uint64, own uint32) string {
	var call string
	if o := ops.lookup(seq); o != nil {
		call = o.describe()
	} else {
		call = ops.history.Words(seq, own)
	}
	return call + ops.refusal.before(seq, ops.seq, mostWords-len(call))
}
