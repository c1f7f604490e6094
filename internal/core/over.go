package core

import (
	"slices"

	"github.com/schedgen/schedgen/internal/core/loss"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Chunks without bytes only carry information. A barrier's chunks say that all ranks have arrived;
// another operation's chunks say that their holders have arrived. So a rank that has ended an
// operation without bytes can tell its chunks to a rank that has not. It can do so at any later
// time, and remembers nothing for it: the operation number is enough. A rank that has returned from
// a barrier therefore answers for ever.
//
// Such an answer goes on LaneControl. LaneOps may be held by the very rank that waits for the
// answer, behind a chunk of a later operation that it does not enter before it has the answer. That
// chunk leaves as soon as the earlier operation is settled (overlap.go), so from then on all answers
// go on LaneControl, not only after the call has returned.
//
// A rank learns that an operation is over from a rank that it asks by a request of the schedule,
// from the neighbour that it probes, or from the goodbye of a rank, which names the operations it
// has ended. Therefore goodbyes also go to the ranks that may ask.

// over reports whether operation seq, remembered as o, has ended here and had no bytes, as far as
// known.
func (ops *operations) over(o *op, seq uint64) bool {
	if o == nil {
		return seq <= ops.complete
	}
	return o.state == opReturned && o.empty() && o.chunks > 0
}

// sayOver tells a rank that operation seq is over. It also sends a datagram if possible, since the
// rank has lost a frame already.
func (ops *operations) sayOver(to int, seq uint64, fingerprint uint32) {
	ops.control(to, wire.FrameOver, seq, fingerprint, 0)
	if ops.Caps.Direct {
		ops.queued = true
		ops.net.Datagram(to, ops.fillControl(wire.FrameOver, seq, fingerprint, 0))
	}
}

// peerOver takes a rank's word that an operation is over there.
func (ops *operations) peerOver(o *op, h *wire.Header) {
	if o.isOpen() && o.empty() {
		ops.loss.Lost()
		ops.tellAll(o, h.From)
	}
}

// leftAfter records that a rank has ended all operations up to last.
func (ops *operations) leftAfter(rank int, last uint64) {
	for seq := ops.complete + 1; seq <= min(ops.seq, last); seq++ {
		if o := ops.open(seq); o != nil && o.empty() {
			ops.tellAll(o, rank)
		}
	}
}

// tellAll sets the chunks of o that must exist because o has ended at rank from. They have no
// bytes. For a barrier tellAll sets all chunks; else see [loss.EndShows].
func (ops *operations) tellAll(o *op, from int) {
	pl := &o.plan.places
	if pl.blocks == 0 {
		for k := range o.chunks {
			if o.root != ops.Rank { // the root puts these chunks to the others
				ops.setTold(o, ir.Chunk(k), from)
			}
		}
		return
	}
	loss.EndShows(ops.Rank, from, ops.Size, pl.heldBy, pl.wantedBy, func(k int) { ops.setTold(o, ir.Chunk(k), from) })
}

// setTold sets a chunk of o that rank from has told.
func (ops *operations) setTold(o *op, s ir.Slot, from int) {
	if !o.machine.Has(s) {
		o.lost.ByPut++
		ops.trace(EventArrived, o.seq, s, from)
		ops.set(o, s)
	}
}

// mayBeAsked remembers the ranks that may ask this rank for chunks of the plan's barriers.
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

// answersOf returns the ranks to which ordinary rules of a barrier put chunks; a rank that has lost
// such a chunk asks for it.
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
