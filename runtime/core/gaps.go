package core

import (
	"encoding/binary"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core/internal/moment"
	"github.com/schedgen/schedgen/runtime/wire"
)

// gaps tracks the missing chunks of an operation.
type gaps struct {
	armed bool // a datagram has arrived, and there is a rank to ask
	fresh bool // a datagram has arrived since last was set
	given bool // an answer has arrived since the last tick
	first Time // arrival of the first datagram; 0: since the last tick
	last  Time // arrival of the last datagram, as seen at a tick
	top   int  // chunks below this have been multicast, as far as known
	lost  int  // chunks below this have been multicast and passed, so missing ones are lost
	reach int  // how many chunks beyond top the next request asks for when the multicast stops
	tries int  // requests since the last arrival
	quiet Time // when silence becomes a reason to ask
	told  Time // when the rank that repairs this one last heard that this one is at work
	pass  pass
}

// The limits of requests.
const (
	maxWanted  = wire.MaxControl / 8 // runs of chunks in a request; the rest is asked for later
	reorder    = 2                   // a chunk is taken for lost when this many later ones have arrived
	firstReach = 32                  // chunks beyond the known ones in the first request; doubles each time
	maxReach   = 1 << 20
	maxShift   = 4 // greatest number of doublings of a wait
	stressed   = 2 // how often the last chunk is multicast again
	// The schedule repairs fewer chunks as fast.
	stressedFrom = 8
)

// due returns when to ask next.
func (g *gaps) due() Time {
	switch {
	case !g.armed:
		return never
	case g.pass.due:
		return 0
	case g.pass.again != 0:
		return min(g.quiet, g.pass.again)
	}
	return g.quiet
}

// silence is how long a multicast must pause before a rank asks: longer than the usual pause
// between two bursts, which a slow link takes a while to carry.
func (rc *recovery) silence() Time {
	return min(max(rc.Repair/2, rc.rhythm.Late(), 1), moment.Longest(rc.Repair))
}

// hear records that a datagram of chunk k has arrived.
func (rc *recovery) hear(o *op, k int) {
	g := &o.lost.gaps
	g.fresh = true
	g.top = max(g.top, k)
	if k == o.chunks-1 {
		g.top = o.chunks + reorder // the last chunk shows that all have been sent
	}
	if o.yields.Listen(g.top, false) {
		rc.ops.tellLoosely(o, int(o.plan.recovery.ReportTo))
	}
	if !g.armed && o.mayAsk() && !o.lost.whole(o) {
		g.armed, g.reach = true, firstReach
	}
}

// mayAsk reports whether o asks for chunks. It does not if puts bring all chunks at once, whatever
// the multicast brings.
func (o *op) mayAsk() bool {
	return len(o.plan.recovery.Ask) > 0 && (o.yields.On() || !o.plan.yields)
}

// repeats is how often the multicast of chunk s is repeated. A rank with the last chunk knows what
// it lacks of the rest; a rank without it would have to wait for a silence.
func (l *losses) repeats(o *op, s ir.Slot) int {
	if o.chunks < stressedFrom || s.Index() != o.chunks-1 || !o.plan.recovers || o.plan.yields && !o.yields.On() {
		return 0
	}
	return stressed
}

// checkGaps asks at once for chunks that the multicast has passed over, again for chunks that
// earlier requests did not bring, and for all missing chunks when the multicast has been silent for
// a while.
func (rc *recovery) checkGaps(o *op, now Time) {
	g := &o.lost.gaps
	if !g.armed {
		return
	}
	rc.stampGaps(g, now)
	if now-g.told >= rc.Repair/2 && o.yields.Listen(g.top, true) {
		rc.ops.tellLoosely(o, int(o.plan.recovery.ReportTo))
		g.told = now
	}
	if lost := g.top - reorder; lost > g.lost && !o.lost.whole(o) {
		g.lost = lost
		rc.goOn(o, now)
	}
	if g.pass.due {
		rc.goOn(o, now)
	}
	if g.pass.again != 0 && now >= g.pass.again {
		rc.askAgain(o, now)
	}
	if now >= g.quiet && rc.answered(o) {
		g.quiet = max(now+1, g.pass.again)
	}
	if now >= g.quiet {
		g.quiet = now + rc.silence()<<min(g.tries, maxShift)
		rc.askInSilence(o, now)
	}
}

// stampGaps takes in the events since the last tick.
func (rc *recovery) stampGaps(g *gaps, now Time) {
	if g.first == 0 {
		g.first, g.told = now, now
		g.quiet = now + rc.silence()
	}
	if g.fresh {
		if g.last > 0 {
			rc.rhythm.Took(now - g.last)
		}
		g.fresh, g.last, g.tries, g.reach = false, now, 0, firstReach
	}
	if g.given { // the missing chunks are on their way; asking for whole chunks would bring them twice
		g.given, g.quiet = false, max(g.quiet, now+rc.silence()<<min(g.tries, maxShift))
	}
	if g.pass.timed {
		g.pass.timed = false
		rc.asks.answers.Took(now - g.pass.since)
	}
}

// askInSilence is the last resort. It asks by put, and for little at first, since datagrams may
// only be late.
func (rc *recovery) askInSilence(o *op, now Time) {
	g := &o.lost.gaps
	switch {
	case o.lost.whole(o):
		if o.plan.recovery.Reports {
			rc.ops.tellWhole(o, int(o.plan.recovery.ReportTo))
		}
		g.tries++
	case g.top >= o.chunks:
		rc.want(o, 0, o.chunks, rc.putLimit(o), o.asked(g.tries), wasPassed)
		g.tries++
	case now-g.last >= max(rc.Repair, rc.silence()):
		rc.want(o, 0, min(o.chunks, g.top+1+g.reach), rc.putLimit(o), o.asked(g.tries), wasPassed)
		g.tries++
		g.reach = min(2*g.reach, maxReach)
	}
}

// putLimit is how many chunks a request in silence may ask for: all if there are no other requests.
func (rc *recovery) putLimit(o *op) int {
	if !rc.Caps.Direct {
		return o.chunks
	}
	return rc.some(o, o.lost.gaps.tries)
}

// countRuns returns how many units a request asks for, and whether all are below units.
func countRuns(runs []byte, units int) (n int, ok bool) {
	for ; len(runs) >= 8; runs = runs[8:] {
		first, length := int64(binary.BigEndian.Uint32(runs)), int64(binary.BigEndian.Uint32(runs[4:]))
		if first+length > int64(units) {
			return 0, false
		}
		n += int(length)
	}
	return n, len(runs) == 0
}
