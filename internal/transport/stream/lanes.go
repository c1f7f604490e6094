package stream

import "github.com/schedgen/schedgen/runtime/wire"

// Every communicator has its own connections for its LaneOps, which the first put opens, so unread
// frames of one communicator hold up no other. All share the connections of LaneControl.

// laneIndex returns the index of a lane in peer.out and peer.in. Lanes of the first communicator
// have the lanes' numbers.
func laneIndex(l wire.Lane, comm uint8) int {
	if l == wire.LaneOps && comm > 0 {
		return int(wire.Lanes) - 1 + int(comm)
	}
	return int(l)
}

// laneOf is the inverse of laneIndex.
func laneOf(i int) (l wire.Lane, comm uint8) {
	if i < int(wire.Lanes) {
		return wire.Lane(i), 0
	}
	return wire.LaneOps, uint8(i - int(wire.Lanes) + 1)
}

// reach makes room for lane i.
func (p *peer) reach(i int) {
	for len(p.out) <= i {
		p.out, p.in = append(p.out, nil), append(p.in, nil)
		p.outTurn, p.inTurn = append(p.outTurn, 0), append(p.inTurn, 0)
	}
}

// wholeTurn returns the turn of a connection from p, given its last eight bits.
func (p *peer) wholeTurn(i int, last uint64) uint64 {
	next := uint64(0)
	if i < len(p.inTurn) {
		next = p.inTurn[i]
	}
	return next + uint64(uint8(last-next))
}

// outbound returns the half for puts on a lane, or nil if there is none yet.
func (p *peer) outbound(i int) *outbound {
	if i >= len(p.out) {
		return nil
	}
	return p.out[i]
}

// silent reports whether nothing more may arrive from p.
func (p *peer) silent() bool {
	for _, c := range p.in {
		if c != nil {
			return false
		}
	}
	return true
}

// Forget ends the halves of a communicator; see [wire.Transport].
func (t *Transport) Forget(comm uint8) {
	for rank := range t.peers {
		if o := t.peers[rank].outbound(laneIndex(wire.LaneOps, comm)); o != nil {
			o.ending = true
			t.mark(o)
		}
	}
}

// more reports whether o has something to write. It queues the end record after everything else.
func (o *outbound) more() bool {
	if o.ending && !o.ended && o.idle() {
		o.ended = true
		if o.p.out[o.lane] == o {
			o.p.out[o.lane] = nil
		}
		o.q.pushRecord(mark(kindEnd))
	}
	return !o.idle()
}
