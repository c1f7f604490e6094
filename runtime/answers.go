package runtime

import (
	"encoding/binary"

	"github.com/schedgen/schedgen/ir"
)

// Answers go the way the request has come: by put, which is reliable and
// adapts to what the network takes, or as datagrams, which nothing holds up
// when one of them is lost.

// debt is chunks that a rank has asked for and that are missing here as well.
type debt struct {
	rank   int
	loose  bool // has been asked for by datagrams alone
	chunks []uint64
}

// maxDebtors is how many ranks chunks are owed to; others ask again.
const maxDebtors = 16

// wantBody is the place of a request.
func (c *Comm) wantBody(h *Header) ([]byte, Verdict) {
	if h.Len > MaxControl || h.Len%8 != 0 {
		c.violation(h, "request of %d bytes", h.Len)
		return nil, Drop
	}
	return c.place(h), Accept
}

// wanted answers a request that was put.
func (c *Comm) wanted(h *Header, runs []byte) {
	o := c.lookup(h.Seq)
	if o == nil || h.Seq > c.seq {
		c.stale++
		return
	}
	if !c.agrees(o, h) {
		return
	}
	if _, ok := countRuns(runs, o.chunks); !ok {
		c.violation(h, "request for chunks beyond the last of %d", o.chunks)
		return
	}
	c.serve(o, h.From, runs, false)
}

// wantedLoosely answers a request that came as a datagram, and reports
// whether it is one.
func (c *Comm) wantedLoosely(o *op, h *Header, runs []byte) bool {
	n, ok := countRuns(runs, o.chunks)
	if !ok || h.Len != len(runs) || n > o.looseChunks() {
		return false
	}
	c.serve(o, h.From, runs, true)
	return true
}

// countRuns returns how many chunks a request is for, and whether a message of
// chunks has them.
func countRuns(runs []byte, chunks int) (n int, ok bool) {
	for ; len(runs) >= 8; runs = runs[8:] {
		first, length := int64(binary.BigEndian.Uint32(runs)), int64(binary.BigEndian.Uint32(runs[4:]))
		if first+length > int64(chunks) {
			return 0, false
		}
		n += int(length)
	}
	return n, len(runs) == 0
}

// serve gives rank the chunks that it asks for. It also tells that rank is at
// work: what the schedule would put to it, it asks for by itself. A request for
// nothing says that it has all.
func (c *Comm) serve(o *op, rank int, runs []byte, loose bool) {
	c.spare(o, rank, len(runs) == 0)
	if len(runs) > 0 {
		c.noteLoss()
	}
	for ; len(runs) > 0; runs = runs[8:] {
		first, n := int(binary.BigEndian.Uint32(runs)), int(binary.BigEndian.Uint32(runs[4:]))
		for k := first; k < first+n; k++ {
			c.give(o, k, rank, loose)
		}
	}
}

// spare puts the repairs of rank off, or ends them if it has all chunks.
func (c *Comm) spare(o *op, rank int, whole bool) {
	now := c.clock.Now()
	for i := range o.repairs {
		r := &o.repairs[i]
		if !r.armed || r.rule == gapRule || !c.repairs(o, r, rank) {
			continue
		}
		if r.due = now.Add(r.wait); whole {
			r.armed = false
			o.armed--
		}
	}
}

// repairs reports whether r puts chunks to rank.
func (c *Comm) repairs(o *op, r *repair, rank int) bool {
	actions := o.plan.program.Actions(r.rule)
	return carries(actions) && int(actions[0].To) == rank
}

// give sends chunk k to rank, now or when it is here.
func (c *Comm) give(o *op, k, rank int, loose bool) {
	switch here := o.state != opActive || o.machine.Has(ir.Chunk(k)); {
	case here && loose:
		c.answer(o, ir.Chunk(k), rank)
	case here:
		c.act(o, []ir.Action{{Op: ir.Put, Slot: ir.Chunk(k), To: int32(rank)}})
	default:
		c.owe(o, k, rank, loose)
	}
}

// answer sends a chunk as datagrams to one rank.
func (c *Comm) answer(o *op, s ir.Slot, rank int) {
	if !o.holds() {
		return // the request came too late for what is kept; others repair
	}
	f := &c.frame
	f.Header = Header{
		Kind: FrameSlot, Lane: LaneOps, Epoch: c.cfg.Epoch, Seq: o.seq, Slot: s, Print: o.print, Arg: isAnswer, From: c.rank,
	}
	f.Body, f.Unsent = o.chunk(s), &o.unsent
	f.Len = len(f.Body)
	o.unsent++
	c.queued = true
	c.tr.Datagram(rank, f)
}

func (c *Comm) owe(o *op, k, rank int, loose bool) {
	bit := uint64(1) << (k % 64)
	for i := range o.gaps.owed {
		if d := &o.gaps.owed[i]; d.rank == rank {
			d.chunks[k/64] |= bit
			d.loose = d.loose && loose
			return
		}
	}
	if len(o.gaps.owed) < maxDebtors {
		d := o.gaps.debtor()
		d.rank, d.loose = rank, loose
		d.chunks = cleared(d.chunks, (o.chunks+63)/64)
		d.chunks[k/64] |= bit
	}
}

// debtor returns a new last debt, with the memory of an old one.
func (g *gaps) debtor() *debt {
	if n := len(g.owed); n < cap(g.owed) {
		g.owed = g.owed[:n+1]
	} else {
		g.owed = append(g.owed, debt{})
	}
	return &g.owed[len(g.owed)-1]
}

func cleared(words []uint64, n int) []uint64 {
	if cap(words) < n {
		return make([]uint64, n)
	}
	words = words[:n]
	clear(words)
	return words
}

// settle sends chunk k, which has come, to those that it is owed to.
func (c *Comm) settle(o *op, k int) {
	for i := range o.gaps.owed {
		d := &o.gaps.owed[i]
		if bit := uint64(1) << (k % 64); d.chunks[k/64]&bit != 0 {
			d.chunks[k/64] &^= bit
			c.give(o, k, d.rank, d.loose)
		}
	}
}
