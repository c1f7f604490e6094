package tcp

import "github.com/schedgen/schedgen/runtime/wire"

// Abandon forgets what is queued of operations; see [wire.Transport]. To a
// peer whose connection had to be cut within a frame, frames of operations are
// dropped from then on.
func (t *Transport) Abandon(uint8) {
	for rank := range t.peers {
		if o := t.peers[rank].out[wire.LaneOps]; o != nil {
			t.abandon(o)
		}
	}
}

func (t *Transport) abandon(o *outbound) {
	if o.q.n == 0 {
		return
	}
	greeted := isFrame(&o.q.at(0).head)
	if greeted && o.sent > 0 {
		o.p.cut = true
		hasten(o.fd)
		t.closeOut(o)
		return
	}
	first := o.q.at(0).head
	o.q.clear()
	if !greeted {
		o.q.pushRecord(first)
	}
}
