package core

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Chunks of no bytes only tell something: those of a barrier, that all have come; those of
// another operation, that who holds them has come. So who has ended an operation without bytes
// can tell its chunks to who has not, however long ago that was and whatever it remembers of
// it: the number of the operation says enough. A rank that has returned from a barrier therefore answers for ever, and keeps
// nothing for it.
//
// Such an answer goes on LaneControl. The lane of operations may be held, by the very rank
// that waits for the answer: behind a chunk of a later operation, which it does not enter
// before it has the answer.
//
// That an operation is over a rank learns from whom it has asked by a request of the
// schedule; from the neighbour that it probes; and from the goodbye of a rank that leaves,
// which says what it has ended. Who may ask this rank is therefore among those that it says
// goodbye to.

// over reports whether operation seq, of which o is what is remembered, has ended here
// and had no bytes, as far as that is known.
func (ops *operations) over(o *op, seq uint64) bool {
	if o == nil {
		return seq <= ops.complete
	}
	return o.state == opReturned && o.empty() && o.chunks > 0
}

// sayOver tells a rank that operation seq is over, again by datagram where there are any:
// it has lost a frame already.
func (ops *operations) sayOver(to int, seq uint64, fingerprint uint32) {
	ops.control(to, wire.FrameOver, seq, fingerprint, 0)
	if ops.Caps.Direct {
		ops.queued = true
		ops.net.Datagram(to, ops.fillControl(wire.FrameOver, seq, fingerprint, 0))
	}
}

// peerOver takes the word of a rank that an operation is over there.
func (ops *operations) peerOver(h *wire.Header) {
	if o := ops.open(h.Seq); o != nil && o.empty() && h.Print == o.print {
		ops.rec.noteLoss()
		ops.tellAll(o, h.From)
	}
}

// leftAfter takes in that a rank has ended all operations up to last.
func (ops *operations) leftAfter(rank int, last uint64) {
	for seq := ops.complete + 1; seq <= min(ops.seq, last); seq++ {
		if o := ops.open(seq); o != nil && o.empty() {
			ops.tellAll(o, rank)
		}
	}
}

// tellAll sets the chunks of o, which have no bytes, that are known to be there since o has ended at
// rank from: all those of a barrier, and else those of each rank of which from wants a block. A leaf of
// a gather wants none, so its end only says that it has come itself.
func (ops *operations) tellAll(o *op, from int) {
	pl := &o.plan.places
	if pl.blocks == 0 {
		for k := range o.chunks {
			if o.root != ops.Rank { // who tells it to the others
				ops.told(o, ir.Chunk(k), from)
			}
		}
		return
	}
	wanted := pl.wantedBy(from)
	for rank := range ops.Size {
		held := pl.heldBy(rank)
		if rank == ops.Rank || rank != from && !meet(held.Blocks, wanted.Blocks) {
			continue
		}
		for k := range held.All() {
			ops.told(o, ir.Chunk(k), from)
		}
	}
}

// told sets a chunk of o of which rank from has told.
func (ops *operations) told(o *op, s ir.Slot, from int) {
	if !o.machine.Has(s) {
		o.lost.byPut++
		ops.trace(EventArrived, o.seq, s, from)
		ops.set(o, s)
	}
}

// meet reports whether a and b have a block in common.
func meet(a, b ir.Blocks) bool {
	for i := range a.Count {
		if b.Index(a.At(i)) >= 0 {
			return true
		}
	}
	return false
}

// mayBeAsked remembers who may ask this rank for chunks of the plan's barriers.
func (ops *operations) mayBeAsked(p *Plan) {
	if p == ops.asked {
		return
	}
	ops.asked = p
	for _, rank := range p.answers {
		if at, known := slices.BinarySearch(ops.askers, rank); !known {
			ops.askers = slices.Insert(ops.askers, at, rank)
		}
	}
}

// answersOf returns the ranks to which plain rules of a barrier put chunks: who has lost
// them asks for them.
func answersOf(h *ir.Header, p ir.Program) (ranks []int) {
	if h.HasMessage() || h.Chunks == 0 {
		return nil
	}
	for i := range p.Rules {
		for _, a := range p.Rules[i].Do {
			if !p.Rules[i].IsRepair() && a.Op == ir.Put && a.Slot.Kind() == ir.KindChunk {
				ranks = append(ranks, int(a.To))
			}
		}
	}
	return ranks
}
