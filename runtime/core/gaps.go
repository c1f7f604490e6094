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
	first Time // when the first one came; 0: since the last tick
	last  Time // when one was last seen to have come
	top   int  // chunks below have been multicast, so far as is known
	asked int  // chunks below have been asked for if they were missing
	reach int  // how far beyond top the next request goes when the multicast falls silent
	tries int  // requests since something last came

	quiet Time // when silence is a reason to ask
	again Time // when what was asked for by mark is asked for again; 0: nothing was
	mark  int  // chunks below had been asked for one wait ago
	turns int  // requests made again since a new gap was seen
	timed int  // the chunk, plus one, whose answer is timed; 0: none
	since Time // when it was asked for
	came  bool // its answer has come since the last tick
	given bool // a fragment has come as an answer since the last tick
	rest  rest
}

// rest is what a request had no room for: chunks of many fragments, of which each
// request is for a few. As soon as most of what it was for has come, the next one
// goes, so that a rank is answered as fast as the network takes answers.
type rest struct {
	from    int // the first fragment that has not been asked for
	pending int // fragments to come before that is asked for; 0: there is no rest
	due     bool
}

// arrived notes that a fragment has come as an answer.
func (r *rest) arrived() {
	if r.pending > 0 {
		r.pending--
		r.due = r.pending == 0
	}
}

// The bounds of requests.
const (
	maxWanted  = wire.MaxControl / 8 // runs of chunks in a request; the rest is asked for later
	reorder    = 2                   // chunks that may overtake another before it is taken for lost
	firstReach = 32                  // chunks asked for beyond those known of at first, then twice as many each time
	maxReach   = 1 << 20
	eagerTurns = 4 // requests made again before the wait for an answer grows
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
	case g.rest.due:
		return 0
	case g.again != 0:
		return min(g.quiet, g.again)
	}
	return g.quiet
}

// answered notes that chunk k has come as an answer.
func (g *gaps) answered(k int) {
	if g.timed == k+1 {
		g.timed, g.came = 0, true
	}
}

// silence is how long a multicast has to be silent to be asked for.
func (rc *recovery) silence() Time { return max(rc.Repair/2, 1) }

// hear notes that a datagram of chunk k has come.
func (rc *recovery) hear(o *op, k int) {
	g := &o.lost.gaps
	g.fresh = true
	g.top = max(g.top, k)
	if k == o.chunks-1 {
		g.top = o.chunks + reorder // the last one tells that all have been sent
	}
	if o.lost.yields.on {
		rc.listen(o)
	}
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
	if lost := g.top - reorder; lost > g.asked && !o.lost.whole(o) {
		rc.askPassed(o, lost, now)
	}
	if g.rest.due {
		rc.askRest(o, now)
	}
	if g.again != 0 && now >= g.again {
		rc.askAgain(o, now)
	}
	if now >= g.quiet {
		g.quiet = now + rc.silence()<<min(g.tries, maxShift)
		rc.askInSilence(o, now)
	}
}

// stampGaps takes in what has happened since the last tick.
func (rc *recovery) stampGaps(g *gaps, now Time) {
	if g.first == 0 {
		g.first = now
		g.quiet = now + rc.silence()
	}
	if g.fresh {
		g.fresh, g.last, g.tries, g.reach = false, now, 0, firstReach
	}
	if g.given { // what is missing is on its way: whole chunks would come once more
		g.given, g.quiet = false, max(g.quiet, now+rc.silence())
	}
	if g.came {
		g.came = false
		rc.asks.took(now - g.since)
	}
}

// asked returns whom the schedule says to ask at the given turn, from 0; the last
// one stays. While the multicast goes on the root is spared, whose link that keeps
// busy, for a turn: what two ranks that ask each other have both lost is with it
// alone.
func (o *op) asked(turn int) int {
	ask := o.plan.recovery.Ask
	i := min(turn, len(ask)-1)
	if i > 0 && turn <= i && int(ask[i]) == o.root && o.lost.gaps.top < o.chunks {
		i--
	}
	return int(ask[i])
}

// askPassed asks for the chunks below lost that have not been asked for.
func (rc *recovery) askPassed(o *op, lost int, now Time) {
	g := &o.lost.gaps
	if g.rest.pending > 0 {
		g.asked = lost // what is asked for next goes on up to there
		return
	}
	first, some := rc.wantParts(o, g.asked, lost, o.asked(0))
	g.asked = lost
	if !some {
		return
	}
	rc.noteLoss()
	g.quiet, g.turns = now+rc.silence(), 0
	if g.timed == 0 {
		g.timed, g.since = first+1, now
	}
	if g.again == 0 || lost >= o.chunks {
		g.mark, g.again = lost, now+rc.asks.patience(rc.Repair)
	}
}

// askRest asks for what the last request had no room for.
func (rc *recovery) askRest(o *op, now Time) {
	g := &o.lost.gaps
	g.rest.due = false
	rc.wantPartsFrom(o, g.rest.from, g.asked, o.asked(g.turns))
	g.mark, g.again = g.asked, now+rc.asks.patience(rc.Repair)
}

// askAgain asks for what an earlier request has not brought: the datagram or
// the answer is lost, or the rank that was asked misses it too.
func (rc *recovery) askAgain(o *op, now Time) {
	g := &o.lost.gaps
	if g.again = 0; o.lost.whole(o) {
		return
	}
	if _, some := rc.wantParts(o, 0, g.mark, o.asked(1+g.turns)); some {
		if g.timed > 0 {
			g.timed = 0                 // its answer would be to either request
			rc.asks.took(now - g.since) // it takes at least so long
		}
		g.turns++
	}
	g.mark = g.asked
	g.again = now + rc.asks.patience(rc.Repair)<<min(max(0, g.turns-eagerTurns), maxShift)
}

// askInSilence is the last resort, and goes by puts.
func (rc *recovery) askInSilence(o *op, now Time) {
	g := &o.lost.gaps
	switch {
	case o.lost.whole(o):
		if o.plan.recovery.Reports {
			rc.tellWhole(o, int(o.plan.recovery.ReportTo))
		}
		g.tries++
	case g.top >= o.chunks:
		rc.want(o, 0, o.chunks, o.asked(g.tries))
		g.tries++
	case now-g.last >= rc.Repair:
		rc.want(o, 0, min(o.chunks, g.top+1+g.reach), o.asked(g.tries))
		g.tries++
		g.reach = min(2*g.reach, maxReach)
	}
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
