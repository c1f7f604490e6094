package core

import (
	"github.com/schedgen/schedgen/runtime/wire"
)

// Package presence remembers which ranks have not entered an operation. Here ranks tell each other
// about it.

// The values of Print in a FrameAbsent.
const (
	away = iota
	here
)

// sayAbsent tells all ranks, once, that this rank has not entered operation seq.
func (ops *operations) sayAbsent(seq uint64) {
	if ops.absent.Say(seq) {
		ops.passAbsent(seq, away, ops.Rank)
	}
}

// sayPresent tells all ranks that this rank has entered an operation now, if sayAbsent has told
// them that it had not.
func (ops *operations) sayPresent() {
	if said, ok := ops.absent.Enter(ops.seq); ok {
		ops.passAbsent(said, here, ops.Rank)
	}
}

// peerAbsent records a rank's FrameAbsent and passes it on.
func (ops *operations) peerAbsent(h *wire.Header) {
	if int(h.Arg) >= ops.Size {
		ops.fate.violation(h, "unexpected absence of rank %d", h.Arg)
		return
	}
	rank := int(h.Arg)
	ops.passAbsent(h.Seq, h.Print, rank)
	if rank != ops.Rank && h.Print <= here {
		ops.absent.Hear(rank, h.Seq, h.Print == here)
	}
}

// passAbsent tells this rank's children in the tree of rank whether rank has entered operation seq.
func (ops *operations) passAbsent(seq uint64, what uint32, rank int) {
	for _, child := range ops.members.Children(nil, rank, ops.Rank, ops.Size) {
		ops.control(child, wire.FrameAbsent, seq, what, uint32(rank))
	}
}

// Absent returns a rank that has said that it has not entered operation seq. ok is false if no rank
// has said so, or all such ranks have entered since.
func (c *Core) Absent(seq uint64) (rank int, ok bool) {
	if late := c.ops.absent.In(seq); len(late) > 0 {
		return late[0], true
	}
	return 0, false
}
