package core

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
)

// Kind is what an operation is.
type Kind uint8

// The kinds of operations.
const (
	Bcast Kind = iota
	Barrier
	Exchange // every rank has a chunk, and gets those of all
	Kinds    // number of kinds
)

type opState uint8

const (
	opFree     opState = iota
	opActive           // the process is inside the call; buf is the caller's
	opReturned         // requests are still answered, from keep
)

// op is one operation of this rank, running or past. Operations live in a
// ring and are reused, so that a warm core allocates nothing.
type op struct {
	seq     uint64
	state   opState
	quick   bool // it was gone through at once, and so was each other one since its place was prepared
	kind    Kind
	root    int
	print   uint32 // its fingerprint; see operations.next
	plan    *Plan
	machine machine.Engine  // runs the operation
	own     machine.Machine // does so unless the plan has engines of its own
	chunks  int
	n       int    // bytes of the message
	buf     []byte // the message: the caller's while active, keep afterwards, nil if it is gone
	keep    []byte // memory for the copy
	unsent  int    // frames that refer to buf or still have to leave
	turn    uint64 // of a barrier whose signals are flags: which it is; of a broadcast whose chunks are: one more than the lines before it; else 0
	waits   waits
	gate    gate
	pulse   pulse
	frags   fragments
	lost    losses // what recovery knows of the operation
}

// begin makes o operation seq, of that fingerprint, under p on buf.
func (o *op) begin(seq uint64, fingerprint uint32, k Kind, root int, p *Plan, buf []byte) {
	o.seq, o.kind, o.root, o.plan, o.print = seq, k, root, p, fingerprint
	o.state, o.quick = opActive, false
	o.buf, o.n, o.chunks, o.turn = buf, len(buf), p.Chunks, 0
	o.machine = p.engine(o)
	o.pulse = pulse{stirred: true} // moved is written only if the operation takes long
	o.frags.reset()
	o.lost.reset()
	o.waits.reset()
}

// chunk returns the bytes of chunk slot s in the message; nil if the message
// is gone.
func (o *op) chunk(s ir.Slot) []byte {
	if o.buf == nil && o.n > 0 {
		return nil
	}
	if o.chunks == 1 {
		return o.buf[:o.n:o.n]
	}
	lo, hi := ir.ChunkBounds(o.n, o.chunks, s.Index())
	return o.buf[lo:hi:hi]
}

// canSend reports whether o can send chunks now.
func (o *op) canSend() bool { return o.state == opActive || o.n == 0 || o.buf != nil }

// whole reports whether rank has all of the message.
func (o *op) whole(rank int) bool {
	for k := 0; k < o.chunks && rank != o.root; k++ {
		if !o.machine.Has(ir.Chunk(k)) {
			return false
		}
	}
	return true
}

// ready reports whether the call may return: everything has come that the
// schedule waits for, and everything that fired rules ask for has been handed
// over, or has turned out not to be needed.
func (o *op) ready() bool {
	return o.machine.Done() && o.unsent == 0 && !o.gate.closed && !o.gate.behind && !o.lost.yields.waits()
}

// retire ends the call. If others may still ask for chunks, the message is kept,
// as far as limit bytes suffice; beyond that the repairs of ranks that are still in
// the operation have to do.
func (o *op) retire(asked bool, limit int) {
	o.state = opReturned
	o.lost.repairs.disarm()
	if o.n == 0 || !asked || o.n > limit {
		o.buf = nil
		return
	}
	o.keep = append(o.keep[:0], o.buf...)
	o.buf = o.keep
}

// free forgets the operation, which could not be completed.
func (o *op) free() { o.state, o.buf = opFree, nil }
