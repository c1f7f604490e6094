package runtime

import (
	"math/bits"
	"time"

	"github.com/schedgen/schedgen/ir"
)

// A multicast that is longer than the buffers of its receivers would overrun
// them where no link holds it back. So where ranks ask for what they miss, the
// root lets at most Caps.Window bytes go beyond what all ranks have taken in.
// That climbs the binomial tree of the acknowledgements (paper 002, section
// 3.2) as they do: each rank tells its parent how far its whole subtree has
// come, every quarter of a window. Where puts bring everything anyway
// (bcast/mcast-chain) losses cost nothing and waiting would.
//
// A rank whose call returns needs no more: it counts as if all had come. The
// multicast stays best effort: who is late holds the others up for a moment
// and is then left to repairs. Messages within a window cost nothing.
type flow struct {
	on       bool
	window   int // chunks
	step     int // chunks between two reports
	parent   int // rank; -1 at the root
	levels   int // children are the ranks at distance 2^j, j < levels, as far as there are any
	own      int // the multicast has come to this chunk
	subtrees [maxLevels]int
	progress int // the least of all: told to the parent, or allowed for by the root

	held  []ir.Slot // root: multicasts that wait, in order
	first int       // the first of them that still does
	given uint32    // levels of children that are not waited for, being late
	moved time.Time // when progress was last made
}

// maxLevels is the height of a binomial tree of ir.MaxRanks.
const maxLevels = 20

// taken is the last report from the rank at distance 2^j, kept because it may
// come before this rank has entered the operation.
type taken struct {
	seq   uint64
	print uint32
	chunk int
}

// openFlow prepares the window of o, if it needs one.
func (c *Comm) openFlow(o *op) {
	f := &o.flow
	if f.on = c.caps.Window > 0 && o.plan.acked && c.size > 1; !f.on {
		return
	}
	f.window = max(1, c.caps.Window/footprint((o.n+o.chunks-1)/o.chunks, c.caps.Datagram))
	if f.on = f.window < o.chunks; !f.on {
		return
	}
	f.step = max(1, f.window/4)
	f.own, f.progress, f.given, f.moved = 0, 0, 0, c.clock.Now()
	f.held, f.first = f.held[:0], 0
	v := (c.rank - o.root + c.size) % c.size
	f.parent = -1
	below := c.size
	if v > 0 {
		below = v & -v
		f.parent = (c.rank - below + c.size) % c.size
	} else {
		f.own = o.chunks
	}
	f.levels = 0
	for bit := 1; bit < below && v+bit < c.size; bit <<= 1 {
		r := &c.reports[f.levels]
		f.subtrees[f.levels] = 0
		if r.seq == o.seq && r.print == o.print {
			f.subtrees[f.levels] = min(r.chunk, o.chunks)
		}
		f.levels++
	}
}

// footprint is what a chunk takes of a receiver's buffer: whole datagrams.
func footprint(chunk, datagram int) int {
	return max(1, (chunk+datagram-1)/datagram) * datagram
}

// take notes that the multicast has come to chunk.
func (c *Comm) take(o *op, chunk int) {
	if f := &o.flow; f.on && chunk > f.own {
		f.own = chunk
		c.advance(o)
	}
}

// told takes a report of a child.
func (c *Comm) told(h *Header) {
	distance := (h.From - c.rank + c.size) % c.size
	if distance == 0 || distance&(distance-1) != 0 {
		c.violation(h, "it reports to a rank that is not its parent")
		return
	}
	level := bits.TrailingZeros(uint(distance))
	if h.Seq >= c.reports[level].seq {
		c.reports[level] = taken{seq: h.Seq, print: h.Print, chunk: int(h.Arg)}
	}
	o := c.lookup(h.Seq)
	if o == nil || !o.flow.on || level >= o.flow.levels || !c.agrees(o, h) {
		return // early or late; openFlow looks at the early ones
	}
	f := &o.flow
	f.subtrees[level] = max(f.subtrees[level], min(int(h.Arg), o.chunks))
	if f.subtrees[level] >= f.progress {
		f.given &^= 1 << level
	}
	c.advance(o)
}

// advance tells the parent of progress, or lets more of the multicast go.
func (c *Comm) advance(o *op) {
	f := &o.flow
	least := f.own
	for level, n := range f.subtrees[:f.levels] {
		if f.given&(1<<level) == 0 {
			least = min(least, n)
		}
	}
	if least < f.progress+f.step && (least < o.chunks || least == f.progress) {
		return
	}
	f.progress, f.moved = least, c.clock.Now()
	if f.parent < 0 {
		if least == o.chunks {
			o.drop() // puts have been faster: all ranks have the message
		}
		c.release(o)
		return
	}
	c.control(f.parent, FrameTaken, o.seq, o.print, uint32(least))
}

// hold keeps a multicast back, and reports so, if it is beyond the window.
func (o *op) hold(s ir.Slot) bool {
	f := &o.flow
	if !f.on || f.first == len(f.held) && s.Index() < f.progress+f.window {
		return false
	}
	f.held = append(f.held, s)
	o.unsent++ // the call must not return before it is sent
	return true
}

// waits reports whether multicasts are held back.
func (f *flow) waits() bool { return f.on && f.first < len(f.held) }

// release sends what is within the window by now.
func (c *Comm) release(o *op) {
	f := &o.flow
	for f.waits() && f.held[f.first].Index() < f.progress+f.window {
		s := f.held[f.first]
		f.first++
		o.unsent--
		c.mcast(o, s)
	}
}

// patience returns when the lowest child that everybody waits for is given up,
// false if nobody waits. Who is further up the tree waits longer, so that only
// the parent of a late rank gives it up, as with the repairs (paper 002, section
// 3.3.4).
func (c *Comm) patience(o *op) (level int, due time.Time, waits bool) {
	f := &o.flow
	if !f.on || f.parent < 0 && !f.waits() {
		return 0, due, false
	}
	for level, n := range f.subtrees[:f.levels] {
		if f.given&(1<<level) == 0 && n < f.progress+f.step && n+f.step <= f.own {
			return level, f.moved.Add(time.Duration(level+1) * c.cfg.Repair / 4), true
		}
	}
	return 0, due, false
}

// unblock gives late ranks up.
func (c *Comm) unblock(o *op, now time.Time) {
	for {
		level, due, waits := c.patience(o)
		if !waits || now.Before(due) {
			return
		}
		o.flow.given |= 1 << level
		c.advance(o)
	}
}

// drop forgets what is held back.
func (o *op) drop() {
	f := &o.flow
	if f.waits() {
		o.unsent -= len(f.held) - f.first
	}
	f.held, f.first, f.on = f.held[:0], 0, false
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
