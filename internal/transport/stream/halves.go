package stream

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// A rank's puts to another rank on one lane go through halves of connections, one after the other:
// the first is turn 0, and so on. A half is declared ended before the next one counts, and a
// receiver reads each half to its end before the next. So it does not matter which connections the
// halves belong to, or when they arrive. A rank without a half takes the free half of a connection
// that the peer has opened, or else opens one. So two ranks that both put use one connection, and
// the traffic of each confirms the traffic of the other.
//
// Two ranks that connect at the same time do not wait for each other either. Each speaks on its own
// connection. When the higher rank sees the other's connection, it ends its half and takes its next
// turn there. When a communicator is closed, its halves end; if its number is used again, they take
// their next turns.

// begin takes the next turn of a lane to p.
func (t *Transport) begin(p *peer, i int) (*outbound, error) {
	p.reach(i)
	o := p.free(i)
	if o == nil {
		return t.open(p, i)
	}
	o.q.pushRecord(begun(p.outTurn[i]))
	p.take(o)
	p.opened++
	return o, nil
}

// free returns a half in which this rank may begin to speak, or nil.
func (p *peer) free(i int) *outbound {
	for _, c := range p.conns {
		if o := &c.out; c.lane == i && !o.begun && !o.dead && c.in.phase != finished {
			return o
		}
	}
	return nil
}

// take makes o the half of the next turn.
func (p *peer) take(o *outbound) {
	o.begun = true
	p.out[o.lane] = o
	p.outTurn[o.lane]++
}

// unite ends this rank's half to p on a connection where p does not speak, so that this rank takes
// its next turn where p speaks. If neither speaks on the other's connection, only the higher rank
// changes, so that they do not swap; the lower rank changes only from a connection on which p has
// ended its half.
func (t *Transport) unite(p *peer, i int) {
	o := p.out[i]
	if o == nil || t.parting.now {
		return
	}
	free := p.free(i) != nil
	if t.rank > p.rank && free || o.in.phase == finished && (free || p.in[i] != nil) {
		p.out[i] = nil
		o.ending = true
		t.mark(o)
	}
}

// maxHeirs is how many turns of a lane may wait for a turn that is not read to its end.
const maxHeirs = 4

// place schedules a half for reading in its turn, which may be now. It fails for an invalid turn.
func (t *Transport) place(c *inbound, turn uint64) error {
	p := c.p
	known := func(other *conn) bool {
		return other.lane == c.lane && other.in.phase == waiting && other.in.turn == turn
	}
	if turn < p.inTurn[c.lane] || turn-p.inTurn[c.lane] > maxHeirs || slices.ContainsFunc(p.conns, known) {
		return fmt.Errorf("%w: turn %d in place of %d", errNoFrame, turn, p.inTurn[c.lane])
	}
	c.turn, c.phase = turn, waiting
	if turn == p.inTurn[c.lane] && p.in[c.lane] == nil {
		t.employ(c)
	} else {
		c.rewatch(false, c.writes)
	}
	t.unite(p, c.lane)
	return nil
}

// employ starts to read a half whose turn has come.
func (t *Transport) employ(c *inbound) {
	c.phase = employed
	c.p.in[c.lane] = c
	c.p.inTurn[c.lane]++
	if c.p.near {
		relax(c.fd)
	}
}

// finish is called when a half has been read to its end.
func (t *Transport) finish(c *inbound, s wire.Sink) {
	p, read := c.p, c.phase == employed
	c.phase = finished
	if !c.out.speaks() {
		t.closeConn(c.conn)
	}
	if !read {
		return
	}
	p.end.read++
	p.in[c.lane] = nil
	next := func(other *conn) bool {
		return other.lane == c.lane && other.in.phase == waiting && other.in.turn == p.inTurn[c.lane]
	}
	if i := slices.IndexFunc(p.conns, next); i >= 0 {
		heir := &p.conns[i].in
		t.employ(heir)
		t.receive(heir, s)
	}
	t.unite(p, c.lane)
}
