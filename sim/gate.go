package sim

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// gate keeps the root from beginning until the message of a rank that has called arrives (paper
// 000, section 2.1, the third policy), or until a time has passed. Until then the root has neither
// called nor has the chunks that it holds. A collective without a root has no gate.
type gate struct {
	enters []Time // by rank, when its call begins
	peer   int    // the rank, -1: it sends no message
	shut   bool

	drawn int  // the rank that tells the root about the multicasts, -1: none
	heard bool // one has reached it
	calls Time // when the root calls
	came  Time // when the message of the rank has come, Never: it has not
	began Time // when the root has begun
}

// gateRule stands for the rule by which the peer notifies the root.
const gateRule = -1

func (e *engine) newGate(enters []Time) gate {
	g := gate{enters: enters, peer: -1, drawn: -1, came: Never, calls: enters[e.h.Root] + e.c.Delay.Fixed}
	if e.row.Rooted && (e.c.Delay.Peer || e.c.Delay.Adaptive) {
		g.drawn = drawOther(e.seed, drawPeer, len(e.ranks), e.h.Root)
	}
	g.peer, g.began = g.drawn, g.calls
	g.shut = g.peer >= 0 && (e.c.Delay.Peer || e.adapted > 0)
	return g
}

// shutFor reports whether a rank must wait at the gate.
func (e *engine) shutFor(r int) bool { return e.gate.shut && r == e.h.Root }

// wait lets the root begin when it has waited for long enough.
func (e *engine) wait() {
	if e.gate.shut && !e.c.Delay.Peer {
		e.push(key{e.gate.calls + e.adapted, e.numbers(1)}, opens, e.h.Root, event{})
	}
}

// timeout lets the root begin although no message has come.
func (e *engine) timeout(k key, r int) error {
	if !e.gate.shut {
		return nil
	}
	n, err := e.node(r)
	if err != nil {
		return err
	}
	e.ranks[r].cpu = max(e.ranks[r].cpu, k.at)
	e.open(r, n)
	e.mayEnd(r)
	e.plan(r, k.at)
	return nil
}

// open lets the root begin: it sets the slots that the root has from the beginning.
func (e *engine) open(r int, n *node) {
	if !e.gate.shut {
		return
	}
	e.gate.shut, e.gate.began = false, e.ranks[r].cpu
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
	e.gate.heard = e.gate.heard || to == e.gate.drawn
	return false
}

// misses reports whether a multicast that has come does not reach a rank.
func (e *engine) misses(c *cast, r int) bool {
	return int(c.rank) == r || e.loses(key{c.at, c.seq}, r)
}

// opOf returns the operation of a send to a rank or to all.
func opOf(to int32) ir.Op {
	if to == toAll {
		return ir.Mcast
	}
	return ir.Put
}
