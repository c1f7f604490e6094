package core

import (
	"github.com/schedgen/schedgen/internal/core/internal/bitset"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// This rank remembers signals of operations that it has not entered, so that frames behind them in
// their lane need not wait.

// minEarly is how many different signals of one operation a rank remembers. With many ranks it
// remembers more, four for each rank.
const minEarly = 1024

// MaxEarly returns the greatest number of signals that one of size ranks remembers of operations
// that it has not entered.
func MaxEarly(size int) int { return ahead * (maxEarly(size) + 1) }

func maxEarly(size int) int { return max(minEarly, 4*size) }

// remembers reports whether a slot that arrives before its operation is entered counts: it must be
// a signal with a plausible number.
func (ops *operations) remembers(s ir.Slot) bool {
	return s.Kind() == ir.KindSignal && s.Index() < maxEarly(ops.Size)
}

// earlies are the signals of one future operation.
type earlies struct {
	seq  uint64
	seen bitset.Set // by signal
	odd  bool       // the last entry of list has another fingerprint than the others
	list []early    // each signal once
}

// early is a signal of a future operation.
type early struct {
	slot  ir.Slot
	print uint32
	from  int
}

// add remembers a signal. One signal with another fingerprint is enough: the operation will fail.
func (e *earlies) add(h *wire.Header) {
	if e.seq != h.Seq {
		e.seq, e.odd = h.Seq, false
		e.seen, e.list = e.seen[:0], e.list[:0]
	}
	odd := len(e.list) > 0 && h.Print != e.list[0].print
	if e.odd || !odd && e.seen.Has(h.Slot.Index()) {
		return
	}
	if e.odd = odd; !odd {
		e.seen = e.seen.With(h.Slot.Index())
	}
	e.list = append(e.list, early{slot: h.Slot, print: h.Print, from: h.From})
}

// replay sets the signals of o that arrived before the process entered it.
func (ops *operations) replay(o *op) {
	e := &ops.earlies[o.seq%Remembered]
	if e.seq != o.seq {
		return
	}
	list := e.list
	e.list = e.list[:0]
	for _, e := range list {
		switch {
		case e.print != o.print:
			ops.disagree(o.seq, e.from, e.print)
		case !o.machine.Valid(e.slot):
			ops.fate.violation(&wire.Header{From: e.from, Seq: o.seq}, "%v does not exist here", e.slot)
		default:
			ops.set(o, e.slot)
		}
	}
}
