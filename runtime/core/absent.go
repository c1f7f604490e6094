package core

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// absent holds the ranks that have not entered an operation that others are inside. A rank that is
// probed (see pulse), is inside no operation and has not entered this one says so to all ranks,
// down a binomial tree. It tells them again when it enters. So a missed deadline names the late
// rank, whichever rank each waits for by its schedule.
type absent struct {
	seq   uint64 // the operation
	ranks []int  // first ranks that have not entered it
	own   uint64 // operation that this rank has said it has not entered; 0: none
}

// The values of Print in a FrameAbsent.
const (
	away = iota
	here
)

// sayAbsent tells all ranks, once, that this rank has not entered operation seq.
func (ops *operations) sayAbsent(seq uint64) {
	if ops.absent.own < seq {
		ops.absent.own = seq
		ops.passAbsent(&wire.Header{Seq: seq, Print: away, Arg: uint32(ops.Rank)})
	}
}

// sayPresent tells all ranks that this rank has now entered the operation.
func (ops *operations) sayPresent() {
	ops.passAbsent(&wire.Header{Seq: ops.absent.own, Print: here, Arg: uint32(ops.Rank)})
	ops.absent.own = 0
}

// peerAbsent records a rank's FrameAbsent and passes it on.
func (ops *operations) peerAbsent(h *wire.Header) {
	if int(h.Arg) >= ops.Size {
		ops.fate.violation(h, "absence of rank %d", h.Arg)
		return
	}
	ops.passAbsent(h)
	a, rank := &ops.absent, int(h.Arg)
	if h.Seq > a.seq {
		a.seq, a.ranks = h.Seq, a.ranks[:0]
	}
	at := slices.Index(a.ranks, rank)
	switch {
	case h.Seq != a.seq || rank == ops.Rank:
	case h.Print == here && at >= 0:
		a.ranks = slices.Delete(a.ranks, at, at+1)
	case h.Print == away && at < 0 && len(a.ranks) < maxNamed:
		a.ranks = append(a.ranks, rank)
	}
}

func (ops *operations) passAbsent(h *wire.Header) {
	seq, what, rank := h.Seq, h.Print, h.Arg
	for _, child := range ops.members.below(nil, int(rank), ops.Rank, ops.Size) {
		ops.control(child, wire.FrameAbsent, seq, what, rank)
	}
}

// Absent returns a rank that has said that it has not entered operation seq. ok is false if no rank
// has said so, or all such ranks have entered since.
func (c *Core) Absent(seq uint64) (rank int, ok bool) {
	a := &c.ops.absent
	if a.seq == 0 || a.seq > seq || len(a.ranks) == 0 {
		return 0, false
	}
	return a.ranks[0], true
}
