package stream

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Abandon drops queued frames of a communicator's operations; see [wire.Transport].
func (t *Transport) Abandon(comm uint8) {
	for rank := range t.peers {
		for _, c := range t.peers[rank].conns {
			if c.lane == laneIndex(wire.LaneOps, comm) {
				c.out.abandon()
			}
		}
	}
}

// abandon copies the rest of the piece that is being written. A record then says that the frame is
// cut, and the connection can go on.
func (o *outbound) abandon() {
	if o.q.n > 0 && o.sent > 0 && isFrame(&o.q.at(0).head) {
		e := o.q.at(0)
		head, piece := e.part(o.sent)
		o.tail = slices.Concat(head, piece)
		if o.sent+len(o.tail) < e.len() {
			cut := mark(kindCut)
			o.tail = append(o.tail, cut[:]...)
		}
		o.sent = 0
		o.q.pop()
	}
	o.q.keepRecords()
}
