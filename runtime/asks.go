package runtime

import (
	"encoding/binary"
	"time"

	"github.com/schedgen/schedgen/ir"
)

// asks is a communicator's requests on their way out, and how long those
// before took to be answered.
type asks struct {
	ring [maxAsks]ask
	next int
	mean time.Duration // of the time that an answer takes; 0: not known
}

// ask is a request: frames refer to their bodies until they have left.
type ask struct {
	body   [8 * maxWanted]byte
	unsent int
}

const (
	maxAsks = 16 // requests under way; what does not fit is asked for later

	// looseBytes is how much is asked for by datagrams at most: what a sending
	// socket takes. More is left to puts, which adapt to what the network takes.
	looseBytes = 32 << 10

	// Too much patience costs time, too little a chunk sent twice.
	minPatience = time.Millisecond
)

// looseChunks is looseBytes in chunks of o.
func (o *op) looseChunks() int { return looseBytes / max(1, (o.n+o.chunks-1)/max(1, o.chunks)) }

// patience returns how long to wait for an answer; base is the timeout of
// repairs.
func (a *asks) patience(base time.Duration) time.Duration {
	most := max(base/4, 1)
	if a.mean == 0 {
		return most
	}
	return min(max(2*a.mean, minPatience), most)
}

// took notes how long an answer has taken.
func (a *asks) took(d time.Duration) {
	if a.mean == 0 {
		a.mean = d
	}
	a.mean = max(a.mean+(d-a.mean)/8, 1)
}

// answered notes that chunk k of o has come as an answer.
func (c *Comm) answered(o *op, k int) {
	if g := &o.gaps; g.timed == k+1 {
		g.timed = 0
		c.asks.took(c.clock.Now().Sub(g.since))
	}
}

// want asks rank to for the chunks of [lo, hi) that are missing; any reports
// whether there are some, and first is the first of them. Few are asked for by
// datagram if loose is set, and are answered so.
func (c *Comm) want(o *op, lo, hi, to int, loose bool) (first int, any bool) {
	a := &c.asks.ring[c.asks.next%maxAsks]
	if a.unsent > 0 {
		return 0, false
	}
	runs := missingRuns(a.body[:0], lo, hi, func(k int) bool { return o.machine.Has(ir.Chunk(k)) })
	if len(runs) == 0 {
		return 0, false
	}
	c.asks.next++
	a.unsent++
	c.fillWant(o, runs)
	c.frame.Unsent = &a.unsent
	n, _ := countRuns(runs, o.chunks)
	if c.queued = true; loose && c.caps.Direct && n <= o.looseChunks() {
		c.tr.Datagram(to, &c.frame)
	} else {
		c.tr.Put(to, &c.frame)
	}
	return int(binary.BigEndian.Uint32(a.body[:])), true
}

// tellWhole says that nothing is missing here.
func (c *Comm) tellWhole(o *op, to int) {
	c.fillWant(o, nil)
	c.put(to, &c.frame)
}

func (c *Comm) fillWant(o *op, runs []byte) {
	c.frame = Frame{Header: Header{
		Kind: FrameWant, Lane: LaneControl, Epoch: c.cfg.Epoch, Seq: o.seq, Print: o.print, Len: len(runs), From: c.rank,
	}, Body: runs}
}
