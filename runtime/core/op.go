package core

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
)

// Buffers are the caller's memory for an operation. Blocks stand in it one behind the other: in In
// those that the rank holds at enter, in the order of [ir.Header.Held], and in Out those that it
// wants, in the order of [ir.Header.Wanted].
type Buffers struct {
	In, Out []byte
	Block   int     // bytes of one block, the same at all ranks; with Counts, of the longest that this rank knows
	Counts  *Counts // lengths of the blocks; nil: all have Block bytes
	Fold    *Fold   // of a collective that folds; In then has the rank's contribution, In and Out may be the same memory
}

// InPlace returns the buffers of a broadcast: its one block is sent from and received in buf.
func InPlace(buf []byte) Buffers { return Buffers{In: buf, Out: buf, Block: len(buf)} }

type opState uint8

const (
	opFree     opState = iota
	opActive           // the process is inside the call; the buffers are the caller's
	opReturned         // requests are still answered, from keep
)

// op is one operation of this rank, running or past. Operations live in a
// ring and are reused, so that a warm core allocates nothing.
type op struct {
	seq     uint64
	state   opState
	quick   bool // it was gone through at once, and so was each other one since its place was prepared
	root    int
	print   uint32 // its fingerprint; see operations.next
	plan    *Plan
	machine machine.Machine // runs the operation
	chunks  int
	n       int     // bytes of a block; of the longest that this rank knows, if they differ
	key     int     // what its fingerprint says of lengths; see Buffers.key
	spans   spans   // of blocks that have lengths of their own
	mem     Buffers // the caller's while active, copies in keep afterwards
	gone    bool    // the bytes are not there any more
	relayed []byte  // blocks that the rank passes on but neither holds nor wants
	keep    []byte  // memory for the copies
	unsent  int     // frames that refer to the bytes or still have to leave
	turn    uint64  // of a barrier whose signals are flags: which it is; of a broadcast whose chunks are: one more than the lines before it; else 0
	waits   waits
	gate    gate
	pulse   pulse
	frags   fragments
	folds   folding
	lost    losses // what recovery knows of the operation
}

// begin makes o operation seq, of that fingerprint, under p. The blocks that the rank holds and wants
// are copied to where it wants them.
func (o *op) begin(seq uint64, fingerprint uint32, p *Plan, mem Buffers) {
	o.seq, o.root, o.plan, o.print = seq, p.header.Root, p, fingerprint
	o.state, o.quick = opActive, false
	o.mem, o.n, o.key, o.chunks, o.turn, o.gone = mem, mem.Block, mem.key(), p.Chunks, 0, false
	o.spans.set(mem.Counts)
	o.mem.Counts = nil // from now on it is the caller's
	if f := mem.Fold; f != nil {
		o.folds.kernel, o.folds.element = f.Kernel, f.Element
		o.mem.Fold = nil
	} else {
		o.folds.kernel, o.folds.element = nil, 1
	}
	o.copyOwn()
	o.relayed = grown(o.relayed, len(p.places.relayed)*o.n)
	o.machine.Reset(p.program)
	o.pulse = pulse{stirred: true} // moved is written only if the operation takes long
	o.frags.reset()
	o.lost.reset()
	o.waits.reset()
}

// chunk returns where the bytes of chunk slot s are, or go; nil if they are gone.
func (o *op) chunk(s ir.Slot) []byte {
	if o.gone || o.n == 0 {
		return nil
	}
	pl := &o.plan.places
	if pl.whole {
		if pl.per == 1 {
			return o.mem.Out[:o.n:o.n]
		}
		lo, hi := o.bounds(o.n, s.Index())
		return o.mem.Out[lo:hi:hi]
	}
	if pl.per == 1 {
		mem, at, end := o.place(s.Index())
		return mem[at:end:end]
	}
	mem, lo, hi := o.locateChunk(s.Index())
	return mem[lo:hi:hi]
}

// locateChunk returns in which memory the bytes of chunk k are, or go, and from where to where.
func (o *op) locateChunk(k int) (mem []byte, lo, hi int) {
	per := o.plan.places.per
	mem, at, end := o.place(k / per)
	lo, hi = o.bounds(end-at, k%per)
	return mem, at + lo, at + hi
}

// place returns in which memory a block lies, and from where to where.
func (o *op) place(block int) (mem []byte, at, end int) {
	if o.spans.on {
		return o.spans.place(o, block)
	}
	mem, i := o.plan.places.of(o, block)
	return mem, i * o.n, (i + 1) * o.n
}

// chunksFrom returns where n chunks are, or go, that have numbers from first on; ok is false if they do
// not lie one behind the other.
func (o *op) chunksFrom(first, n int) (all []byte, ok bool) {
	if o.gone || o.n == 0 {
		return nil, true
	}
	pl := &o.plan.places
	from, to := first/pl.per, (first+n-1)/pl.per
	for block := from; block < to; block++ {
		if !pl.adjacent(block, block+1) {
			return nil, false
		}
	}
	mem, at, end := o.place(from)
	lo, _ := o.bounds(end-at, first%pl.per)
	lo += at
	if to != from {
		_, at, end = o.place(to)
	}
	_, hi := o.bounds(end-at, (first+n-1)%pl.per)
	hi += at
	return mem[lo:hi:hi], true
}

// lengthFrom returns the bytes of n chunks that have numbers from first on.
func (o *op) lengthFrom(first, n int) int {
	per := o.plan.places.per
	if per == 0 {
		return 0
	}
	if o.spans.on {
		return o.spans.lengthFrom(o, first, n)
	}
	if per == 1 {
		return n * o.n
	}
	lo, _ := o.bounds(o.n, first%per)
	_, hi := o.bounds(o.n, (first+n-1)%per)
	return ((first+n-1)/per-first/per)*o.n + hi - lo
}

// castBy reports whether rank is the one that multicasts chunk k, if any does: the root, or who holds
// the chunk at enter where there is none.
func (o *op) castBy(rank, k int) bool {
	if !o.plan.manyCast {
		return rank == o.root
	}
	held := o.plan.places.heldBy(rank)
	return held.Has(k)
}

// canSend reports whether o can send chunks now.
func (o *op) canSend() bool { return o.state == opActive || o.n == 0 || !o.gone }

// empty reports whether no chunk of o has bytes at any rank.
func (o *op) empty() bool { return o.n == 0 && !(o.spans.on && !o.spans.shared) }

// bytes returns the bytes of all blocks, at most.
func (o *op) bytes() int { return o.n * o.plan.places.blocks }

// longest returns the bytes of a chunk at most.
func (o *op) longest() int {
	if per := o.plan.places.per; per > 1 {
		return (o.n + per - 1) / per
	}
	return o.n
}

// whole reports whether the rank has all that it wants.
func (o *op) whole() bool {
	for k := range o.plan.places.wanted.All() {
		if !o.plan.places.held.Has(k) && !o.machine.Has(ir.Chunk(k)) {
			return false
		}
	}
	return true
}

// ready reports whether the call may return: everything has come that the
// schedule waits for, and everything that fired rules ask for has been folded
// and handed over, or has turned out not to be needed.
func (o *op) ready() bool {
	return o.machine.Done() && len(o.folds.later) == 0 && o.unsent == 0 && !o.gate.closed && !o.gate.behind && !o.lost.yields.waits()
}

// retire ends the call. If others may still ask for chunks, they are kept, as far as limit bytes
// suffice; beyond that the repairs of ranks that are still in the operation have to do.
func (o *op) retire(asked bool, limit int) {
	o.state = opReturned
	o.lost.repairs.disarm()
	mem := o.mem
	o.mem = Buffers{}
	if mem.isInPlace() {
		mem.In = nil
	}
	if o.gone = o.n == 0 || !asked || len(mem.Out)+len(mem.In) > limit; o.gone {
		return
	}
	o.keep = append(append(o.keep[:0], mem.Out...), mem.In...)
	o.mem.Out, o.mem.In = o.keep[:len(mem.Out)], o.keep[len(mem.Out):]
}

// isInPlace reports whether what is sent and what is received share their memory.
func (b *Buffers) isInPlace() bool {
	return len(b.In) > 0 && len(b.Out) > 0 && &b.In[0] == &b.Out[0]
}

// free forgets the operation, which could not be completed.
func (o *op) free() { o.state, o.mem, o.gone = opFree, Buffers{}, true }
