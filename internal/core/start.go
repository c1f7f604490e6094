package core

import (
	"github.com/schedgen/schedgen/internal/adapt"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// When the root of an operation starts; see [DelayPolicy].

// delayed reports whether the policy applies to o: only a multicast can be too early.
func (ops *operations) delayed(o *op) bool {
	return ops.Delay != DelayNone && ops.Size > 1 && o.plan.places.blocks > 0 && o.plan.header.Rooted() && o.plan.multicasts && ops.Caps.Multicast
}

// drawn returns the rank drawn for o.
func (ops *operations) drawn(o *op) int { return drawPeer(ops.ID, o.seq, o.root, ops.Size) }

// closeGate makes the root of o wait as the policy says.
func (ops *operations) closeGate(o *op) {
	o.gate = gate{peer: -1}
	if !ops.delayed(o) || o.root != ops.Rank {
		return
	}
	switch ops.Delay {
	case DelayRandomPeer:
		o.gate.peer = ops.drawn(o)
		o.gate.closed = !ops.joined.has(o.seq)
	case DelayFixed:
		o.gate.wait = ops.RootDelay
	case DelayAdaptive:
		if o.gate.met = ops.joined.has(o.seq); !o.gate.met {
			o.gate.wait, o.gate.closes = ops.delay, ops.delay
		}
	}
	o.gate.closed = o.gate.closed || o.gate.wait > 0
}

// start lets the root's rules begin.
func (ops *operations) start(o *op) {
	o.gate.closed = false
	ops.set(o, ir.Enter)
}

// peerJoined notes that the drawn peer has entered, and opens the gate.
func (ops *operations) peerJoined(o *op, h *wire.Header) {
	ops.joined.add(h.Seq)
	if o.isOpen() && o.gate.closed && h.From == ops.drawn(o) {
		o.gate.met = true
		ops.start(o)
	}
}

// announce tells the root that the drawn peer has entered.
func (ops *operations) announce(o *op) {
	if (ops.Delay == DelayRandomPeer || ops.Delay == DelayAdaptive) && ops.delayed(o) && o.root != ops.Rank && ops.drawn(o) == ops.Rank {
		ops.control(o.root, wire.FrameJoined, o.seq, o.print, 0)
	}
}

// report tells the root whether the multicast of o has missed the drawn peer.
func (ops *operations) report(o *op) {
	if ops.Delay != DelayAdaptive || !ops.delayed(o) || o.root == ops.Rank || ops.drawn(o) != ops.Rank {
		return
	}
	var missed uint32
	if !o.lost.Heard {
		missed = 1
	}
	ops.control(o.root, wire.FrameLate, o.seq, o.print, missed)
}

// peerLate takes the report of the drawn peer.
func (ops *operations) peerLate(o *op, h *wire.Header) {
	var g gate
	if o != nil {
		g = o.gate
	}
	ops.delay = adapt.Next(ops.delay, h.Arg != 0, g.met, g.closes > 0)
	ops.missed -= ops.missed / missedOver
	if h.Arg != 0 {
		ops.missed += missedAll / missedOver
	}
}

// probed compares a neighbour's operation with this rank's operation of the same number. If this
// rank has not entered the operation, or has ended it, it says so. A rank that has returned from
// the operation asks no other rank by itself, so it passes the question on: one of the following
// ranks may never have entered.
func (ops *operations) probed(o *op, h *wire.Header) {
	if ops.over(o, h.Seq) {
		ops.sayOver(h.From, h.Seq, h.Print)
	}
	switch {
	case h.Seq > ops.seq:
		if ops.oldest() == nil {
			ops.askedFor(h.Seq)
			ops.sayAbsent(h.Seq)
		}
	case !o.isOpen() && h.Arg > 0:
		ops.probe(h.Seq, h.Print, min(h.Arg, uint32(ops.Size))-1)
	}
}
