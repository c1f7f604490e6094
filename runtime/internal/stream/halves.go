package stream

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// What a rank puts to another on one lane goes through halves of connections, one
// after the other: the first is its turn 0, and so on. A half is said to be at its
// end before the next one counts, and a receiver reads each to its end before the
// next. So it does not matter which connections these are halves of, or when they
// come. A rank that has none to put to takes the free half of one that the peer has
// opened, or else opens one: two that both put then use one connection, and what one
// says confirms what has come of the other.
//
// Two that open at the same time do not wait for each other, either. Each speaks on
// its own connection, and the higher rank, when it sees the other's, ends its half and
// takes its next turn there. When a communicator is closed its halves end; if its number
// is used again they take their next turns.

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

// free returns a half in which this rank may begin to speak, nil if there is none.
func (p *peer) free(i int) *outbound {
	for _, c := range p.conns {
		if o := &c.out; c.lane == i && !o.begun && !o.dead && c.in.phase != finished {
			return o
		}
	}
	return nil
}

// take has o be the half of the next turn.
func (p *peer) take(o *outbound) {
	o.begun = true
	p.out[o.lane] = o
	p.outTurn[o.lane]++
}

// unite ends what this rank says to p on a lane where p does not speak, so that it takes
// its next turn where p does. Of two ranks that do not the higher one changes, lest they
// change places; the lower one only from a connection on which p has ended its half.
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

// maxHeirs is how many turns of a lane may wait for one that is not read to its end.
const maxHeirs = 4

// place has the half be read in its turn, which may be now. It fails for a turn that
// makes no sense.
func (t *Transport) place(c *inbound, turn uint64) error {
	p := c.p
	known := func(other *conn) bool {
		return other.lane == c.lane && other.in.phase == waiting && other.in.turn == turn
	}
	if turn < p.inTurn[c.lane] || turn-p.inTurn[c.lane] > maxHeirs || slices.ContainsFunc(p.conns, known) {
		return fmt.Errorf("%w: turn %d where %d is next", errNoFrame, turn, p.inTurn[c.lane])
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

// employ has a half be read whose turn has come.
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
