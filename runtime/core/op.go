package core

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core/flow"
	"github.com/schedgen/schedgen/runtime/core/loss"
	"github.com/schedgen/schedgen/runtime/machine"
)

// Buffers are the caller's memory for an operation. In has the blocks that the rank holds from the
// start, in the order of [ir.Header.Held]. Out takes the blocks that it wants, in the order of
// [ir.Header.Wanted]. Blocks lie one behind the other.
type Buffers struct {
	In, Out []byte
	Block   int     // bytes of one block, the same at all ranks; with Counts, of the longest block that this rank knows
	Counts  *Counts // lengths of the blocks; nil: all have Block bytes
	Fold    *Fold   // for a collective that folds; In then has the rank's contribution, and In and Out may be the same memory
}

// InPlace returns the buffers of a broadcast: buf holds its one block, to send or to receive.
func InPlace(buf []byte) Buffers { return Buffers{In: buf, Out: buf, Block: len(buf)} }

type opState uint8

const (
	opFree     opState = iota
	opActive           // the process is inside the call; the core uses the caller's buffers
	opReturned         // the call has returned; requests are answered from keep
)

// op is one operation of this rank, running or past. Operations live in a ring and are reused, so
// that a warm core allocates nothing.
type op struct {
	seq     uint64
	state   opState
	quick   bool // it took the quick path, as did all operations since its place was prepared
	root    int
	print   uint32 // fingerprint; see operations.next
	plan    *Plan
	machine machine.Machine // runs the operation
	chunks  int
	n       int     // bytes of a block, or of the longest that this rank knows
	key     int     // what the fingerprint covers of lengths; see Buffers.key
	spans   spans   // for blocks with lengths of their own
	mem     Buffers // the caller's while active, then copies in keep
	gone    bool    // the bytes are gone
	relayed []byte  // blocks that the rank relays but neither holds nor wants
	keep    []byte  // memory for the copies
	unsent  int     // frames that refer to the bytes or have not left
	turn    uint64  // for a barrier with flags, its number among such barriers; for chunks in windows, one more than the lines used before; else 0
	waits   waits
	gate    gate
	pulse   flow.Pulse
	window  flow.Window
	yields  flow.Yields
	folds   folding
	lost    loss.Losses
}

// begin makes o operation seq with the given fingerprint under p. It copies the blocks that the
// rank both holds and wants to their places in Out.
func (o *op) begin(seq uint64, fingerprint uint32, p *Plan, mem Buffers) {
	o.seq, o.root, o.plan, o.print = seq, p.header.Root, p, fingerprint
	o.state, o.quick = opActive, false
	o.mem, o.n, o.key, o.chunks, o.turn, o.gone = mem, mem.Block, mem.key(), p.Chunks, 0, false
	relayed := len(p.places.relayed) * o.n
	if o.spans.on = mem.Counts != nil; o.spans.on {
		relayed = o.spans.set(mem.Counts, &p.places, p.folds)
	}
	o.mem.Counts = nil // from now on they are the caller's again
	if f := mem.Fold; f != nil {
		o.folds.with = *f
		o.mem.Fold = nil
	} else {
		o.folds.with = Fold{Element: 1}
	}
	o.copyOwn()
	o.relayed = grown(o.relayed, relayed)
	o.machine.Reset(p.program)
	o.pulse.Begin()
	o.waits.reset()
}

// chunk returns the memory of chunk slot s, or nil if it is gone.
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

// locateChunk returns the memory of chunk k, with start and end.
func (o *op) locateChunk(k int) (mem []byte, lo, hi int) {
	per := o.plan.places.per
	mem, at, end := o.place(k / per)
	lo, hi = o.bounds(end-at, k%per)
	return mem, at + lo, at + hi
}

// place returns the memory of a block, with start and end.
func (o *op) place(block int) (mem []byte, at, end int) {
	if o.spans.on {
		return o.spans.place(o, block)
	}
	mem, i := o.plan.places.memoryOf(o, block)
	return mem, i * o.n, (i + 1) * o.n
}

// chunksFrom returns the memory of n chunks from number first on; ok is false if they do not lie
// one behind the other.
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

// lengthFrom returns the length in bytes of n chunks from number first on.
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

// castBy reports whether rank is the one that may multicast chunk k: the root, or without a root
// the holder of the chunk.
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

// bytes returns an upper limit of the bytes of all blocks.
func (o *op) bytes() int { return o.n * o.plan.places.blocks }

// longest returns the greatest length of a chunk in bytes.
func (o *op) longest() int {
	if per := o.plan.places.per; per > 1 {
		return (o.n + per - 1) / per
	}
	return o.n
}

// whole reports whether the rank has all chunks that it wants.
func (o *op) whole() bool {
	for k := range o.plan.places.wanted.All() {
		if !o.plan.places.held.Has(k) && !o.machine.Has(ir.Chunk(k)) {
			return false
		}
	}
	return true
}

// ready reports whether the call may return: all slots that the schedule waits for are set, and all
// folds and frames of fired rules are done or no longer needed.
func (o *op) ready() bool {
	return o.machine.Done() && len(o.folds.later) == 0 && o.unsent == 0 && !o.gate.closed && !o.gate.behind && !o.yields.HasWaiting()
}

// retire ends the call. If asked is set, other ranks may still ask for chunks, and retire keeps a
// copy of up to limit bytes. Without a copy, ranks that are still inside the operation must repair.
func (o *op) retire(asked bool, limit int) {
	o.state = opReturned
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

// isInPlace reports whether In and Out share their memory.
func (b *Buffers) isInPlace() bool {
	return len(b.In) > 0 && len(b.Out) > 0 && &b.In[0] == &b.Out[0]
}

// free forgets an operation that could not be completed.
func (o *op) free() { o.state, o.mem, o.gone = opFree, Buffers{}, true }
