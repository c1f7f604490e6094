package runtime

import (
	"encoding/binary"
	"time"

	"github.com/schedgen/schedgen/ir"
)

// A repair of a schedule puts the whole message: all that a schedule knows is
// that an acknowledgement is overdue. Ranks know more. One that hears a
// multicast sees which of its chunks have not come, and tells a rank that has
// them; that rank puts just those, and does without the schedule's repair for
// as long as it is told. So the loss of a chunk costs a chunk. A rank that
// hears nothing says nothing, and is repaired as the schedule says.

// gaps is what a rank knows of the chunks that it misses of the running
// operation, and what it owes others.
type gaps struct {
	armed bool      // the operation has an entry in its repairs for this
	fresh bool      // a datagram has come since last was written
	first time.Time // when the first one came
	last  time.Time // when one was last seen to have come
	top   int       // chunks below have been multicast, so far as is known
	asked int       // chunks below have been asked for if they were missing
	reach int       // how far beyond top the next request goes when the multicast falls silent
	tries int       // requests since something last came
	owed  []debt
}

// debt is chunks that a rank has asked for and that are missing here as well.
type debt struct {
	rank   int
	chunks []uint64
}

// The bounds of requests.
const (
	maxDebtors = 16             // ranks that chunks are owed to; others ask again
	maxWanted  = MaxControl / 8 // runs of chunks in a request; the rest is asked for later
	reorder    = 2              // chunks that may overtake another before it is taken for lost
	firstReach = 32             // chunks asked for beyond those known of at first, then twice as many each time
	maxReach   = 1 << 20
	stress     = 2 // times that the last chunk is multicast again
	// Fewer chunks are repaired as fast by the schedule.
	stressedFrom = 8
	gapRule      = -1 // stands for a rule in the entry of an operation's gaps
)

func (g *gaps) reset() {
	*g = gaps{owed: g.owed[:0]}
}

// askWhom returns the ranks that this one asks for chunks, in turn: the
// one that it acknowledges to, which stays in the operation until then. A child
// of the root spares the root, whose link is busy with the multicast, and first
// asks the child that the schedule would have it ask.
func askWhom(p *ir.Program, root int) (peers []int) {
	parent, child := -1, -1
	for i := range p.Rules {
		r := &p.Rules[i]
		for _, a := range r.Do {
			switch {
			case a.Op != ir.Put || a.Slot.Kind() != ir.KindSignal:
			case !r.IsRepair() && parent < 0:
				parent = int(a.To)
			case r.IsRepair() && r.Unless.Kind() == ir.KindChunk && child < 0:
				child = int(a.To)
			}
		}
	}
	switch {
	case parent < 0:
		return nil
	case parent == root && child >= 0:
		return []int{child, parent}
	}
	return []int{parent}
}

// tracksReplies reports whether the root of program p waits for signals: then
// the others acknowledge, and ask.
func tracksReplies(p ir.Program) bool {
	for _, s := range p.Done {
		if s.Kind() == ir.KindSignal {
			return true
		}
	}
	return false
}

// hear notes that a datagram of chunk k has come.
func (c *Comm) hear(o *op, k int) {
	g := &o.gaps
	g.fresh = true
	g.top = max(g.top, k)
	if k == o.chunks-1 {
		g.top = o.chunks + reorder // the last one tells that all have been sent
	}
	if g.armed || len(o.plan.peers) == 0 || o.whole() {
		return
	}
	g.armed, g.reach = true, firstReach
	wait := max(c.cfg.Repair/2, 1)
	now := c.clock.Now()
	g.first = now
	o.repairs = append(o.repairs, repair{rule: gapRule, armed: true, due: now.Add(wait), wait: wait})
	o.armed++
}

// stressEnd multicasts the last chunk of a message again: a rank that has it
// knows what it misses of the rest, and one that has lost the end would have
// to wait for a silence.
func (c *Comm) stressEnd(o *op, actions []ir.Action) {
	if o.chunks < stressedFrom || len(actions) == 0 || !o.plan.acked {
		return
	}
	last := actions[len(actions)-1]
	if last.Op != ir.Mcast || last.Slot.Index() != o.chunks-1 {
		return
	}
	for range stress {
		c.queued = true
		o.unsent++
		c.frame.Unsent = &o.unsent // the rest is as it was for the last
		c.tr.Mcast(&c.frame)
	}
}

// whole reports whether all chunks have come.
func (o *op) whole() bool { return o.byMcast+o.byPut >= o.chunks }

// checkGaps asks for what the multicast has passed over, at once, and for
// all else that is missing when it has been silent for a while.
func (c *Comm) checkGaps(o *op, r *repair, now time.Time) {
	g := &o.gaps
	if g.fresh {
		g.fresh, g.last, g.tries, g.reach = false, now, 0, firstReach
	}
	if lost := g.top - reorder; lost > g.asked && !o.whole() {
		if c.want(o, g.asked, lost, o.plan.peers[0]) {
			r.due = now.Add(r.wait)
		}
		g.asked = lost
	}
	if now.Before(r.due) {
		return
	}
	r.due = now.Add(r.wait << min(g.tries, 4))
	parent := o.plan.peers[len(o.plan.peers)-1]
	switch {
	case o.whole():
		g.tries++
		c.send(parent, FrameWant, o, nil)
	case g.top >= o.chunks:
		c.want(o, 0, o.chunks, parent)
		g.tries++
	case now.Sub(g.last) >= c.cfg.Repair:
		c.want(o, 0, min(o.chunks, g.top+1+g.reach), parent)
		g.tries++
		g.reach = min(2*g.reach, maxReach)
	}
}

// want asks rank to for the chunks of [lo, hi) that are missing, and reports
// whether there were any.
func (c *Comm) want(o *op, lo, hi, to int) bool {
	runs := missingRuns(c.runs[:0], lo, hi, func(k int) bool { return o.machine.Has(ir.Chunk(k)) })
	c.runs = runs
	if len(runs) == 0 {
		return false
	}
	// The frame refers to its body until it has left.
	c.send(to, FrameWant, o, append([]byte(nil), runs...))
	return true
}

// missingRuns appends to dst the runs of chunks of [lo, hi) that a rank does
// not have, as the body of a request: first and number of each, no more than
// fit.
func missingRuns(dst []byte, lo, hi int, has func(int) bool) []byte {
	for k := lo; k < hi && len(dst) < 8*maxWanted; {
		first := k
		for k < hi && !has(k) {
			k++
		}
		if k == first {
			k++
			continue
		}
		dst = binary.BigEndian.AppendUint32(dst, uint32(first))
		dst = binary.BigEndian.AppendUint32(dst, uint32(k-first))
	}
	return dst
}

// send queues a control frame about o.
func (c *Comm) send(to int, k FrameKind, o *op, body []byte) {
	f := &c.frame
	*f = Frame{Header: Header{
		Kind: k, Lane: LaneControl, Epoch: c.cfg.Epoch, Seq: o.seq, Print: o.print, Len: len(body), From: c.rank,
	}, Body: body}
	c.put(to, f)
}

// wantBody is the place of a request, one for each sender.
func (c *Comm) wantBody(h *Header) ([]byte, Verdict) {
	if h.Len > MaxControl || h.Len%8 != 0 {
		c.violation(h, "request of %d bytes", h.Len)
		return nil, Drop
	}
	if c.wants == nil {
		c.wants = make(map[int]*[MaxControl]byte)
	}
	if c.wants[h.From] == nil {
		c.wants[h.From] = new([MaxControl]byte)
	}
	return c.wants[h.From][:h.Len], Accept
}

// wanted answers a request. It also tells that the sender is at work: what
// the schedule would put to it, it asks for by itself. A request for nothing
// says that it has all.
func (c *Comm) wanted(h *Header, runs []byte) {
	o := c.lookup(h.Seq)
	if o == nil || h.Seq > c.seq {
		c.stale++
		return
	}
	if !c.agrees(o, h) {
		return
	}
	c.spare(o, h.From, len(runs) == 0)
	for ; len(runs) > 0; runs = runs[8:] {
		first, n := int64(binary.BigEndian.Uint32(runs)), int64(binary.BigEndian.Uint32(runs[4:]))
		if first+n > int64(o.chunks) {
			c.violation(h, "request for chunks %d … %d of %d", first, first+n-1, o.chunks)
			return
		}
		for k := first; k < first+n; k++ {
			c.give(o, int(k), h.From)
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

// give puts chunk k to rank, now or when it is here.
func (c *Comm) give(o *op, k, rank int) {
	if o.state != opActive || o.machine.Has(ir.Chunk(k)) {
		c.act(o, []ir.Action{{Op: ir.Put, Slot: ir.Chunk(k), To: int32(rank)}})
		return
	}
	for i := range o.gaps.owed {
		if d := &o.gaps.owed[i]; d.rank == rank {
			d.chunks[k/64] |= 1 << (k % 64)
			return
		}
	}
	if len(o.gaps.owed) < maxDebtors {
		d := debt{rank, make([]uint64, (o.chunks+63)/64)}
		d.chunks[k/64] |= 1 << (k % 64)
		o.gaps.owed = append(o.gaps.owed, d)
	}
}

// settle puts chunk k, which has come, to those that it is owed to.
func (c *Comm) settle(o *op, k int) {
	for i := range o.gaps.owed {
		d := &o.gaps.owed[i]
		if bit := uint64(1) << (k % 64); d.chunks[k/64]&bit != 0 {
			d.chunks[k/64] &^= bit
			c.give(o, k, d.rank)
		}
	}
}
