package core

import (
	"fmt"

	"github.com/schedgen/schedgen/runtime/wire"
)

// A call with wrong arguments is refused: it does nothing and does not count. The rank may call
// again, correctly. If it does not, the other ranks wait for it in an operation that it never
// enters, although it lives. So a rank remembers what it has refused. If a waiting rank probes it
// (see [flow.Pulse]), and it has still not called again a while later, all ranks fail with a
// mismatch in the words of the refusal. If no rank waits, nothing is sent.
//
// If the rank calls something else instead, the mismatch adds the refused call to that call.

// refusal is the last refused call of this rank.
type refusal struct {
	seq   uint64 // the number that the operation would have had; 0: none
	words string // the reason
	asked bool   // a rank waits in operation seq or in a later one
	until Time   `state:"ignored"` // when all ranks fail; 0: set at the next tick
}

// Refuse records that the process has made a call with wrong arguments, which would have been
// operation seq. words say which call and why.
func (c *Core) Refuse(seq uint64, words string) {
	r := &c.ops.refusal
	if r.seq != seq {
		*r = refusal{seq: seq, asked: c.ops.absent.Said() >= seq}
	}
	r.words = clip(words, wire.MaxControl/2)
}

// before returns words, at most most bytes, about the refused call in whose place operation seq was
// made. It returns "" if there is none, or if operation seq has not begun. begun is the last
// operation that has begun.
func (r *refusal) before(seq, begun uint64, most int) string {
	const head, tail = " (after a refused call: ", ")"
	room := most - len(head) - len(tail)
	if r.seq == 0 || r.seq != seq || seq > begun || room <= 0 {
		return ""
	}
	return head + clip(r.words, room) + tail
}

// refuses reports whether this rank has refused a call and has made no other since.
func (ops *operations) refuses() bool { return ops.refusal.seq > ops.seq }

// askedFor records that a rank waits in operation seq, which this rank has not entered.
func (ops *operations) askedFor(seq uint64) {
	if ops.refuses() && seq >= ops.refusal.seq {
		ops.refusal.asked = true
	}
}

// failsBy reports whether all ranks will fail by the refusal unless this rank calls again.
func (ops *operations) failsBy() bool {
	return ops.refusal.asked && ops.refuses() && ops.fate.err == nil && !ops.fate.dispute.IsOpen()
}

// tickRefusal fails the core if others have waited long enough for another call.
func (ops *operations) tickRefusal(now Time) {
	if r := &ops.refusal; ops.failsBy() && r.until.Over(now, ops.fate.doubt()) {
		text := fmt.Sprintf("rank %d has refused operation %d: %s", ops.Rank, r.seq, r.words)
		*r = refusal{}
		ops.fate.propose(ops.Rank, text)
	}
}
