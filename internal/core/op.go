package core

import (
	"github.com/schedgen/schedgen/internal/core/flow"
	"github.com/schedgen/schedgen/internal/core/loss"
	"github.com/schedgen/schedgen/ir"
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
	changed bool // it runs under the other schedule: see stage.go
	quick   bool `state:"ignored"` // it took the quick path, as did all operations since its place was prepared
	root    int
	print   uint32          // fingerprint; see operations.next
	plan    *Plan           `state:"fixed"`
	machine machine.Machine // runs the operation
	chunks  int
	n       int    // bytes of a block, or of the longest that this rank knows
	key     int    // what the fingerprint covers of lengths; see Buffers.key
	unit    int    // of the lengths of blocks in bytes, if blocks have lengths of their own; else 0
	shared  bool   // every rank knows all lengths
	memory  memory // with the caller's buffers while active, then with copies in keep
	gone    bool   // the bytes are gone
	keep    []byte `state:"ignored"` // memory for the copies
	unsent  int    // frames that the transport has: they refer to the bytes, or have not left
	turn    uint64 // for a barrier with flags, its number among such barriers; for chunks in windows, one more than the lines used before; else 0
	outbox  flow.Outbox
	entries entries
	gate    gate
	pulse   flow.Pulse `state:"ignored"`
	window  flow.Window
	yields  flow.Yields
	folds   folding
	lost    loss.Losses
}

// begin makes o operation seq with the given fingerprint under p. It copies the blocks that the
// rank both holds and wants to their places in Out.
func (o *op) begin(seq uint64, fingerprint uint32, p *Plan, mem Buffers) {
	o.seq, o.root, o.plan, o.print = seq, p.header.Root, p, fingerprint
	o.state, o.quick, o.changed = opActive, false, false
	o.n, o.key, o.chunks, o.turn, o.gone = mem.Block, mem.key(), p.Chunks, 0, false
	o.unit, o.shared = 0, false
	if c := mem.Counts; c != nil {
		o.unit, o.shared = max(1, c.Element), c.Shared
	}
	o.folds.with = Fold{Element: 1}
	if mem.Fold != nil {
		o.folds.with = *mem.Fold
	}
	o.memory.set(&p.places, &mem)
	o.memory.copyOwn(&p.places)
	o.machine.Reset(p.program)
	o.pulse.Begin()
	o.entries.reset()
}

// bytesOf returns the memory of a slot, or nil if it is gone.
func (o *op) bytesOf(s ir.Slot) []byte {
	if o.gone {
		return nil
	}
	return o.memory.bytes(o.plan.places.of(s))
}

// run returns the memory of n slots from s on, and their bytes in total. all is nil if they do not
// lie one behind the other.
func (o *op) run(s ir.Slot, n int) (all []byte, bytes int) {
	first := o.plan.places.of(s)
	lo, end := o.memory.bounds(first)
	bytes, together := end-lo, true
	for i := 1; i < n; i++ {
		p := o.plan.places.of(s + ir.Slot(i))
		from, to := o.memory.bounds(p)
		bytes += to - from
		together = together && p.area == first.area && from == end
		end = to
	}
	if !together {
		return nil, bytes
	}
	return o.memory.span(first.area, lo, end), bytes
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

// isOpen reports whether o has begun and has not ended. It is false for nil.
func (o *op) isOpen() bool { return o != nil && o.state == opActive }

// empty reports whether no chunk of o has bytes at any rank.
func (o *op) empty() bool { return o.n == 0 && (o.shared || !o.counted()) }

// counted reports whether blocks have lengths of their own.
func (o *op) counted() bool { return o.unit > 0 }

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

// ready reports whether the call may return: all slots that the schedule waits for are set, and
// nothing that rules have asked for waits or has not left.
func (o *op) ready() bool {
	return o.machine.Done() && o.outbox.Empty() && o.unsent == 0 && !o.gate.closed && !o.gate.behind
}

// retire ends the call. If asked is set, other ranks may still ask for chunks, and retire keeps a
// copy of up to limit bytes. Without a copy, ranks that are still inside the operation must repair.
func (o *op) retire(asked bool, limit int) {
	o.state = opReturned
	m := &o.memory
	out, in := m.areas[areaOut].bytes, m.areas[areaIn].bytes
	if m.inPlace() {
		in = nil
	}
	m.areas[areaOut].bytes, m.areas[areaIn].bytes = nil, nil
	if o.gone = o.n == 0 || !asked || len(out)+len(in) > limit; o.gone {
		return
	}
	o.keep = append(append(o.keep[:0], out...), in...)
	m.areas[areaOut].bytes, m.areas[areaIn].bytes = o.keep[:len(out)], o.keep[len(out):]
}

// free forgets an operation that could not be completed.
func (o *op) free() {
	o.state, o.gone = opFree, true
	o.outbox.Clear()
	o.memory.areas[areaOut].bytes, o.memory.areas[areaIn].bytes = nil, nil
}
