package sim

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// gate keeps the root from beginning until the message of a rank that has called arrives (paper
// 000, section 2.1, the third policy). Until then the root has neither called nor has the chunks
// that it holds. A collective without a root has no gate.
type gate struct {
	enters []Time // by rank, when its call begins
	peer   int    // the rank, -1: there is no gate
	shut   bool

	drawn int  // the rank that tells the root about the multicasts, -1: none
	heard bool // one has reached it
}

// gateRule stands for the rule by which the peer notifies the root.
const gateRule = -1

func (e *engine) newGate(enters []Time) gate {
	g := gate{enters: enters, peer: -1, drawn: -1}
	if e.row.Rooted && (e.c.Delay.Peer || e.c.Delay.Adaptive) {
		g.drawn = drawOther(e.seed, drawPeer, len(e.ranks), e.h.Root)
	}
	if e.c.Delay.Peer {
		g.peer = g.drawn
	}
	g.shut = g.peer >= 0
	return g
}

// shutFor reports whether a rank must wait at the gate.
func (e *engine) shutFor(r int) bool { return e.gate.shut && r == e.h.Root }

// open lets the root begin: it sets the slots that the root has from the beginning.
func (e *engine) open(r int, n *node) {
	e.gate.shut = false
	e.fired = e.fired[:0]
	e.set = e.heldSlots(append(e.set[:0], 0), r, n)
	for _, slot := range e.set {
		if n.has(slot) {
			continue
		}
		e.fired = n.assign(e.fired, slot)
		if n.words[slot]&slotDone != 0 {
			e.ranks[r].undone--
		}
	}
	slices.Sort(e.fired)
	e.fireAll(r, n)
	e.mayReturn(r)
}

// loses reports whether a rank misses a copy of a multicast that would come at time k, by chance or
// because it has not called yet, and counts it.
func (e *engine) loses(k key, to int) bool {
	early := e.c.Unready && k.at < e.gate.enters[to]
	if early || e.c.Loss > 0 && below(draw(e.seed, drawLoss, k.seq, uint64(to)), e.c.Loss) {
		e.counts.Lost++
		return true
	}
	return false
}

// misses reports whether a multicast that has come does not reach a rank.
func (e *engine) misses(c *cast, r int) bool {
	if int(c.rank) == r || (e.c.Unready || e.c.Loss > 0) && e.loses(key{c.at, c.seq}, r) {
		return true
	}
	e.gate.heard = e.gate.heard || r == e.gate.drawn
	return false
}

// opOf returns the operation of a send to a rank or to all.
func opOf(to int32) ir.Op {
	if to == toAll {
		return ir.Mcast
	}
	return ir.Put
}
