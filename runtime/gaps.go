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

	quiet time.Time // when silence is a reason to ask
	again time.Time // when what was asked for by mark is asked for again; zero: nothing was
	mark  int       // chunks below had been asked for one wait ago
	turns int       // requests made again since a new gap was seen
	timed int       // the chunk, plus one, whose answer is timed; 0: none
	since time.Time // when it was asked for

	owed []debt
}

// The bounds of requests.
const (
	maxWanted  = MaxControl / 8 // runs of chunks in a request; the rest is asked for later
	reorder    = 2              // chunks that may overtake another before it is taken for lost
	firstReach = 32             // chunks asked for beyond those known of at first, then twice as many each time
	maxReach   = 1 << 20
	eagerTurns = 4 // requests made again before the wait for an answer grows
	stressed   = 2 // times that the last chunk is multicast again
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

// firstAsked returns whom this rank asks first, while the root multicasts.
func (c *Comm) firstAsked(o *op) int {
	if first := o.plan.peers[0]; first != o.root {
		return first
	}
	return bystander(c.rank, o.root, c.size)
}

// bystander returns a rank near rank that is neither it nor the root, if there
// is one, and preferably not the next: of two ranks that ask each other for
// what both have lost, both have to ask again.
func bystander(rank, root, size int) int {
	for _, d := range [...]int{2, 1, 3} {
		if other := (rank + d) % size; other != rank && other != root {
			return other
		}
	}
	return root
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
	g.first = c.clock.Now()
	g.quiet = g.first.Add(wait)
	o.repairs = append(o.repairs, repair{rule: gapRule, armed: true, due: g.quiet, wait: wait})
	o.armed++
}

// stress is how often the multicast of chunk s is repeated: a rank that has the
// last one knows what it misses of the rest, and one that has lost it would have
// to wait for a silence.
func (o *op) stress(s ir.Slot) int {
	if o.chunks < stressedFrom || s.Index() != o.chunks-1 || !o.plan.acked {
		return 0
	}
	return stressed
}

// whole reports whether all chunks have come.
func (o *op) whole() bool { return o.byMcast+o.byPut >= o.chunks }

// checkGaps asks for what the multicast has passed over, at once, again for
// what that has not brought, and for all that is missing when the multicast
// has been silent for a while.
func (c *Comm) checkGaps(o *op, r *repair, now time.Time) {
	g := &o.gaps
	if g.fresh {
		g.fresh, g.last, g.tries, g.reach = false, now, 0, firstReach
	}
	if lost := g.top - reorder; lost > g.asked && !o.whole() {
		c.askPassed(o, lost, r.wait, now)
	}
	if !g.again.IsZero() && !now.Before(g.again) {
		c.askAgain(o, now)
	}
	if !now.Before(g.quiet) {
		g.quiet = now.Add(r.wait << min(g.tries, 4))
		c.askInSilence(o, now)
	}
	if r.due = g.quiet; !g.again.IsZero() && g.again.Before(r.due) {
		r.due = g.again
	}
}

// askPassed asks for the chunks below lost that have not been asked for.
func (c *Comm) askPassed(o *op, lost int, wait time.Duration, now time.Time) {
	g := &o.gaps
	first, any := c.want(o, g.asked, lost, c.firstAsked(o), true)
	g.asked = lost
	if !any {
		return
	}
	c.noteLoss()
	g.quiet, g.turns = now.Add(wait), 0
	if g.timed == 0 {
		g.timed, g.since = first+1, now
	}
	if g.again.IsZero() || lost >= o.chunks {
		g.mark, g.again = lost, now.Add(c.asks.patience(c.cfg.Repair))
	}
}

// askAgain asks for what an earlier request has not brought: the datagram or
// the answer is lost, or the rank that was asked misses it too. The root has
// everything, and is at leisure once it has multicast all.
func (c *Comm) askAgain(o *op, now time.Time) {
	g := &o.gaps
	if g.again = (time.Time{}); o.whole() {
		return
	}
	to := o.plan.peers[len(o.plan.peers)-1]
	if g.top >= o.chunks {
		to = o.root
	}
	if _, any := c.want(o, 0, g.mark, to, true); any {
		g.timed = 0 // its answer would be to either request
		g.turns++
	}
	g.mark = g.asked
	g.again = now.Add(c.asks.patience(c.cfg.Repair) << min(max(0, g.turns-eagerTurns), 4))
}

// askInSilence is the last resort, and goes by puts.
func (c *Comm) askInSilence(o *op, now time.Time) {
	g := &o.gaps
	parent := o.plan.peers[len(o.plan.peers)-1]
	switch {
	case o.whole():
		g.tries++
		c.tellWhole(o, parent)
	case g.top >= o.chunks:
		c.want(o, 0, o.chunks, parent, false)
		g.tries++
	case now.Sub(g.last) >= c.cfg.Repair:
		c.want(o, 0, min(o.chunks, g.top+1+g.reach), parent, false)
		g.tries++
		g.reach = min(2*g.reach, maxReach)
	}
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
