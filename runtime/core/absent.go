package core

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// absent is who has not come to an operation that others are in. A rank that is asked
// what it runs (see pulse), is in no operation and has not entered this one says so to
// all, down a binomial tree, and again when it enters it. So a deadline that is missed is told of the
// rank that is late, whomever else the ranks wait for by their schedule.
type absent struct {
	seq   uint64 // the operation
	ranks []int  // that have not entered it, the first few
	own   uint64 // an operation that this rank has said it is not in; 0: none
}

// What a FrameAbsent says in Print.
const (
	away = iota
	here
)

// sayAbsent tells all ranks that this one has not entered operation seq, once.
func (ops *operations) sayAbsent(seq uint64) {
	if ops.absent.own < seq {
		ops.absent.own = seq
		ops.passAbsent(&wire.Header{Seq: seq, Print: away, Arg: uint32(ops.Rank)})
	}
}

// sayPresent tells all ranks that this one has entered the operation after all.
func (ops *operations) sayPresent() {
	ops.passAbsent(&wire.Header{Seq: ops.absent.own, Print: here, Arg: uint32(ops.Rank)})
	ops.absent.own = 0
}

// peerAbsent takes what a rank has said of itself, and passes it on.
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

// Absent returns a rank that has said that it has not entered operation seq; ok is false if
// none has, or if it has come since.
func (c *Core) Absent(seq uint64) (rank int, ok bool) {
	a := &c.ops.absent
	if a.seq == 0 || a.seq > seq || len(a.ranks) == 0 {
		return 0, false
	}
	return a.ranks[0], true
}
