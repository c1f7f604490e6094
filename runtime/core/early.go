package core

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Signals of an operation that this rank has not entered are remembered, so that
// nothing behind them in their lane has to wait.

// minEarly is how many different signals of one operation are remembered at
// least; among many ranks four for each.
const minEarly = 1024

// MaxEarly returns how many signals of operations that a rank has not entered it
// remembers at most, among size ranks.
func MaxEarly(size int) int { return ahead * (maxEarly(size) + 1) }

func maxEarly(size int) int { return max(minEarly, 4*size) }

// remembers reports whether a slot counts that comes before its operation is entered: it is
// a signal, and not one of more than any algorithm has.
func (ops *operations) remembers(s ir.Slot) bool {
	return s.Kind() == ir.KindSignal && s.Index() < maxEarly(ops.Size)
}

// earlies are the signals of one operation to come.
type earlies struct {
	seq  uint64
	seen bits    // by signal
	odd  bool    // the last of list is of another fingerprint than the others
	list []early // each signal once
}

// early is one of them.
type early struct {
	slot  ir.Slot
	print uint32
	from  int
}

// add remembers a signal. One of another fingerprint says enough: the operation
// will fail.
func (e *earlies) add(h *wire.Header) {
	if e.seq != h.Seq {
		e.seq, e.odd = h.Seq, false
		e.seen, e.list = e.seen[:0], e.list[:0]
	}
	odd := len(e.list) > 0 && h.Print != e.list[0].print
	if e.odd || !odd && e.seen.has(h.Slot.Index()) {
		return
	}
	if e.odd = odd; !odd {
		e.seen = e.seen.with(h.Slot.Index())
	}
	e.list = append(e.list, early{slot: h.Slot, print: h.Print, from: h.From})
}

// replay sets the signals of o that came before the process did.
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

// bits is a set of small numbers, as long as its largest needs.
type bits []uint64

func (b bits) has(i int) bool { return i/64 < len(b) && b[i/64]>>(i%64)&1 == 1 }

// with returns b with i in it.
func (b bits) with(i int) bits {
	for len(b) <= i/64 {
		b = append(b, 0)
	}
	b[i/64] |= 1 << (i % 64)
	return b
}
