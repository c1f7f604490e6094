package core

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// places says where the chunks of an operation lie at one rank. The collective's row determines it.
// A block that the rank wants lies in its output. Another block that it holds lies in its input. A
// block that it only relays lies in memory of the core. In a collective that folds, the rank's
// contribution comes first in the input.
type places struct {
	blocks       int // blocks of the operation
	per          int // chunks of a block
	held, wanted ir.Chunks
	inputs       int    // blocks that the rank contributes
	whole        bool   // there is one block, and the rank wants it
	relayed      []int  // blocks that the rank relays, ascending
	kept         []both // blocks that the rank both holds and wants
	wantedBy     func(rank int) ir.Chunks
	heldBy       func(rank int) ir.Chunks
}

// both holds the indices of a block in the input and in the output.
type both struct{ held, wanted int }

// placesOf returns the places of a rank with the given program outline.
func placesOf(h *ir.Header, rank int, outline *ir.Program) places {
	pl := places{blocks: h.Blocks(), per: h.BlockChunks(), held: h.Held(rank), wanted: h.Wanted(rank)}
	pl.inputs = h.Row().InputBlocks(h.Ranks)
	header := *h
	pl.wantedBy, pl.heldBy = header.Wanted, header.Held
	if pl.whole = pl.blocks == 1 && pl.wanted.Count == 1; pl.blocks == 0 {
		return pl
	}
	for i := range outline.Rules {
		for _, a := range outline.Rules[i].Do {
			for _, s := range [2]ir.Slot{a.Slot, a.As} {
				if block := s.Index() / pl.per; s.Kind() == ir.KindChunk && pl.wanted.Index(block) < 0 && pl.held.Index(block) < 0 {
					pl.relayed = append(pl.relayed, block)
				}
			}
		}
	}
	for i := range pl.held.Count {
		if to := pl.wanted.Index(pl.held.At(i)); to >= 0 {
			pl.kept = append(pl.kept, both{pl.inputs + i, to})
		}
	}
	slices.Sort(pl.relayed)
	pl.relayed = slices.Compact(pl.relayed)
	return pl
}

// memoryOf returns the memory of o with a block, and the block's index there.
func (pl *places) memoryOf(o *op, block int) (mem []byte, at int) {
	if i := pl.wanted.Index(block); i >= 0 {
		return o.mem.Out, i
	}
	if i := pl.held.Index(block); i >= 0 {
		return o.mem.In, pl.inputs + i
	}
	i, found := slices.BinarySearch(pl.relayed, block)
	if !found {
		// The schedule brings the rank a block that it does not use. All such blocks share a place.
		i = len(pl.relayed)
		o.relayed = grown(o.relayed, (i+1)*o.n)
	}
	return o.relayed, i
}

// where is the memory of a block, or of a partial result of the same length.
type where struct {
	memory memory
	at     int // index among the blocks there
}

type memory uint8

const (
	ofOut   memory = iota // Buffers.Out
	ofIn                  // Buffers.In
	ofCells               // see cells
)

// where returns the memory of a block that the rank wants or holds.
func (pl *places) where(block int) where {
	if i := pl.wanted.Index(block); i >= 0 {
		return where{at: i}
	}
	return where{ofIn, pl.inputs + pl.held.Index(block)}
}

// whereIs returns the memory of a slot in an operation whose blocks are whole chunks.
func (p *Plan) whereIs(s ir.Slot) where {
	switch s.Kind() {
	case ir.KindInput:
		return where{ofIn, s.Index()}
	case ir.KindValue:
		return where{ofCells, int(p.cells.of[s.Index()])}
	}
	return p.places.where(s.Index())
}

// bytesIn returns the bytes. Blocks have one length, which may be 0.
func (w where) bytesIn(mem *Buffers, cells []byte) []byte {
	all := mem.Out
	switch w.memory {
	case ofIn:
		all = mem.In
	case ofCells:
		all = cells
	}
	n := mem.Block
	return all[w.at*n : (w.at+1)*n : (w.at+1)*n]
}

// shortBlock is the greatest length in bytes of a block that its receiver copies to its place; a
// longer block gets a frame of its own.
const shortBlock = 1 << 10

// countInFrame returns how many of the first actions of a message go in one frame, for blocks of the given
// length: chunks with consecutive numbers that lie one behind the other here. If the destination
// wants one longer block and relays the next, they go in two frames, so that both are received in
// their places.
func (pl *places) countInFrame(message []ir.Action, bytes int) int {
	n, theirs := 1, ir.Chunks{}
	if len(message) < 2 || !message[1].Joins {
		return 1
	}
	most := wire.MaxBody / ((bytes+pl.per-1)/pl.per + 1) // in chunks
	if bytes > shortBlock {
		theirs = pl.wantedBy(int(message[0].To))
	}
	for ; n < min(len(message), most) && message[n].Joins && message[n].As == ir.None && message[n].Slot == message[n-1].Slot+1; n++ {
		block, before := message[n].Slot.Index()/pl.per, message[n-1].Slot.Index()/pl.per
		if block != before && (!pl.adjacent(before, block) || (theirs.Index(block) < 0) != (theirs.Index(before) < 0)) {
			break
		}
	}
	return n
}

// adjacent reports whether block b lies behind block a in the same memory.
func (pl *places) adjacent(a, b int) bool {
	if i, k := pl.wanted.Index(a), pl.wanted.Index(b); i >= 0 || k >= 0 {
		return i >= 0 && k == i+1
	}
	if i, k := pl.held.Index(a), pl.held.Index(b); i >= 0 || k >= 0 {
		return i >= 0 && k == i+1
	}
	i, found := slices.BinarySearch(pl.relayed, a)
	return found && i+1 < len(pl.relayed) && pl.relayed[i+1] == b
}

// copyOwn copies the blocks that the rank both holds and wants to their places in the output. All
// have the length Buffers.Block.
func (pl *places) copyOwn(mem *Buffers) {
	if len(pl.kept) == 0 || mem.isInPlace() {
		return
	}
	n := mem.Block
	for _, k := range pl.kept {
		copy(mem.Out[k.wanted*n:(k.wanted+1)*n], mem.In[k.held*n:(k.held+1)*n])
	}
}

// copyOwn is places.copyOwn, also for blocks with lengths of their own.
func (o *op) copyOwn() {
	s := &o.spans
	if !s.on {
		o.plan.places.copyOwn(&o.mem)
		return
	}
	for _, k := range o.plan.places.kept {
		copy(o.mem.Out[s.out[k.wanted]:s.out[k.wanted+1]], o.mem.In[s.in[k.held]:s.in[k.held+1]])
	}
}

// grown returns b with n bytes and its content, in its memory if there is room.
func grown(b []byte, n int) []byte {
	if n <= cap(b) {
		return b[:n]
	}
	more := make([]byte, n)
	copy(more, b[:cap(b)])
	return more
}
