package core

import (
	"encoding/binary"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// gaps is what a rank knows of the chunks that it misses of an operation.
type gaps struct {
	armed bool // a datagram has come, and there is somebody to ask
	fresh bool // a datagram has come since last was written
	given bool // something has come as an answer since the last tick
	first Time // when the first one came; 0: since the last tick
	last  Time // when one was last seen to have come
	top   int  // chunks below have been multicast, so far as is known
	lost  int  // chunks below have been multicast and passed: what is missing of them is lost
	reach int  // how far beyond top the next request goes when the multicast falls silent
	tries int  // requests since something last came
	quiet Time // when silence is a reason to ask
	told  Time // when the rank that repairs this one was last told that it is at work
	pass  pass
}

// The bounds of requests.
const (
	maxWanted  = wire.MaxControl / 8 // runs of chunks in a request; the rest is asked for later
	reorder    = 2                   // chunks that may overtake another before it is taken for lost
	firstReach = 32                  // chunks asked for beyond those known of at first, then twice as many each time
	maxReach   = 1 << 20
	maxShift   = 4 // doublings of a wait at most
	stressed   = 2 // times that the last chunk is multicast again
	// Fewer chunks are repaired as fast by the schedule.
	stressedFrom = 8
)

// due returns when something is to be asked for.
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

// silence is how long a multicast has to be silent to be asked for: longer than it usually is
// between two bursts, of which a slow link takes a while to carry one.
func (rc *recovery) silence() Time {
	return min(max(rc.Repair/2, rc.rhythm.late(), 1), maxBackoff*rc.Repair)
}

// hear notes that a datagram of chunk k has come.
func (rc *recovery) hear(o *op, k int) {
	g := &o.lost.gaps
	g.fresh = true
	g.top = max(g.top, k)
	if k == o.chunks-1 {
		g.top = o.chunks + reorder // the last one tells that all have been sent
	}
	rc.listen(o, o.lost.yields.step)
	if !g.armed && o.mayAsk() && !o.lost.whole(o) {
		g.armed, g.reach = true, firstReach
	}
}

// mayAsk reports whether o asks for chunks. Those that are put at once, whatever
// the multicast brings, are on their way.
func (o *op) mayAsk() bool {
	return len(o.plan.recovery.Ask) > 0 && (o.lost.yields.on || !o.plan.yields)
}

// repeats is how often the multicast of chunk s is repeated: a rank that has the
// last one knows what it misses of the rest, and one that has lost it would have
// to wait for a silence.
func (l *losses) repeats(o *op, s ir.Slot) int {
	if o.chunks < stressedFrom || s.Index() != o.chunks-1 || !o.plan.recovers || o.plan.yields && !l.yields.on {
		return 0
	}
	return stressed
}

// checkGaps asks for what the multicast has passed over, at once, again for
// what that has not brought, and for all that is missing when the multicast
// has been silent for a while.
func (rc *recovery) checkGaps(o *op, now Time) {
	g := &o.lost.gaps
	if !g.armed {
		return
	}
	rc.stampGaps(g, now)
	rc.listenSlowly(o, now)
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

// stampGaps takes in what has happened since the last tick.
func (rc *recovery) stampGaps(g *gaps, now Time) {
	if g.first == 0 {
		g.first, g.told = now, now
		g.quiet = now + rc.silence()
	}
	if g.fresh {
		if g.last > 0 {
			rc.rhythm.took(now - g.last)
		}
		g.fresh, g.last, g.tries, g.reach = false, now, 0, firstReach
	}
	if g.given { // what is missing is on its way: whole chunks would come once more
		g.given, g.quiet = false, max(g.quiet, now+rc.silence()<<min(g.tries, maxShift))
	}
	if g.pass.timed {
		g.pass.timed = false
		rc.asks.answers.took(now - g.pass.since)
	}
}

// askInSilence is the last resort, and goes by puts: of little at first, for datagrams
// may only be late.
func (rc *recovery) askInSilence(o *op, now Time) {
	g := &o.lost.gaps
	switch {
	case o.lost.whole(o):
		if o.plan.recovery.Reports {
			rc.tellWhole(o, int(o.plan.recovery.ReportTo))
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

// putLimit is how many chunks are asked for in silence at most: all where nothing else
// is asked for.
func (rc *recovery) putLimit(o *op) int {
	if !rc.Caps.Direct {
		return o.chunks
	}
	return rc.some(o, o.lost.gaps.tries)
}

// countRuns returns how many units a request is for, and whether there are that
// many of them.
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
