package loss

import (
	"github.com/schedgen/schedgen/internal/core/internal/moment"
)

// gaps tracks the missing chunks of an operation whose multicast this rank hears.
type gaps struct {
	armed bool        // a datagram has arrived, and there is a rank to ask
	fresh bool        // a datagram has arrived since last was set
	given bool        // an answer has arrived since the last tick
	first moment.Time // arrival of the first datagram; 0: since the last tick
	last  moment.Time // arrival of the last datagram, as seen at a tick
	top   int         // chunks below this have been multicast, as far as known
	lost  int         // chunks below this have been multicast and passed, so missing ones are lost
	reach int         // how many chunks beyond top the next request asks for when the multicast stops
	tries int         // requests since the last arrival
	quiet moment.Time // when silence becomes a reason to ask
	told  moment.Time // when the rank that repairs this rank last heard that this rank is at work
	pass  pass
}

// The limits of requests.
const (
	reorder      = 2  // a chunk is taken for lost when this many later chunks have arrived
	firstReach   = 32 // chunks beyond the known ones in the first request; doubles each time
	maxReach     = 1 << 20
	maxShift     = 4 // greatest number of doublings of a wait
	stressed     = 2 // how often the last chunk is multicast again
	stressedFrom = 8 // least chunks of such a message; the schedule repairs a shorter one as fast
)

// silence is how long a multicast must pause before a rank asks: longer than the usual pause
// between two bursts, which a slow link takes a while to carry.
func (r *Recovery) silence() moment.Time {
	return min(max(r.cfg.Repair/2, r.rhythm.Late(), 1), moment.Longest(r.cfg.Repair))
}

// Hear records that a datagram of chunk k has arrived by multicast.
func (l *Losses) Hear(k int) {
	g := &l.gaps
	l.Heard = true
	g.fresh = true
	g.top = max(g.top, k)
	if k == l.chunks-1 {
		g.top = l.chunks + reorder // the last chunk shows that all have been sent
	}
	if !g.armed && l.asks() && !l.whole() {
		g.armed, g.reach = true, firstReach
	}
}

// Top returns how far the multicast has come: chunks below this have been sent, as far as known.
func (l *Losses) Top() int { return l.gaps.top }

// LastHeard returns when the multicast was last heard, as seen at a tick, or 0.
func (l *Losses) LastHeard() moment.Time { return l.gaps.last }

// Repeats returns how often the multicast of chunk k is repeated. A rank with the last chunk knows
// which other chunks it lacks; a rank without it would have to wait for a silence.
func (l *Losses) Repeats(k int) int {
	if l.chunks < stressedFrom || k != l.chunks-1 || !l.asked {
		return 0
	}
	return stressed
}

// Look takes in the arrivals since the last tick. It reports whether to call Ask.
func (r *Recovery) Look(l *Losses, now moment.Time) bool {
	g := &l.gaps
	if !g.armed {
		return false
	}
	if g.first == 0 {
		g.first, g.told = now, now
		g.quiet = now + r.silence()
	}
	if g.fresh {
		if g.last > 0 {
			r.rhythm.Took(now - g.last)
		}
		g.fresh, g.last, g.tries, g.reach = false, now, 0, firstReach
	}
	if g.given { // the missing chunks are on their way; asking for whole chunks would bring them twice
		g.given, g.quiet = false, max(g.quiet, now+r.silence()<<min(g.tries, maxShift))
	}
	if g.pass.timed {
		g.pass.timed = false
		r.answers.Took(now - g.pass.since)
	}
	return true
}

// ReportDue reports whether the rank that repairs this rank has not heard for a while that this
// rank is at work.
func (r *Recovery) ReportDue(l *Losses, now moment.Time) bool {
	return now-l.gaps.told >= r.cfg.Repair/2
}

// Reported records that this rank reports now that it is at work.
func (l *Losses) Reported(now moment.Time) { l.gaps.told = now }

// Ask asks at once for chunks that the multicast has passed over, again for chunks that earlier
// requests did not bring, and for all missing chunks when the multicast has been silent for a
// while. Look must have reported that there is something to do.
func (r *Recovery) Ask(l *Losses, now moment.Time, f Facts) {
	g := &l.gaps
	if lost := g.top - reorder; lost > g.lost && !l.whole() {
		g.lost = lost
		r.goOn(l, now, f)
	}
	if g.pass.due {
		r.goOn(l, now, f)
	}
	if g.pass.again != 0 && now >= g.pass.again {
		r.askAgain(l, now, f)
	}
	if now >= g.quiet && r.answered(l) {
		g.quiet = max(now+1, g.pass.again)
	}
	if now >= g.quiet {
		g.quiet = now + r.silence()<<min(g.tries, maxShift)
		r.askInSilence(l, now, f)
	}
}

// askInSilence is the last resort. It asks by put, and for little at first, since datagrams may
// only be late.
func (r *Recovery) askInSilence(l *Losses, now moment.Time, f Facts) {
	g := &l.gaps
	switch {
	case l.whole():
		r.out = append(r.out, Output{Do: TellWhole})
		g.tries++
	case g.top >= l.chunks:
		r.askChunks(l, 0, l.chunks, r.putLimit(l), l.turn(g.tries), false, f)
		g.tries++
	case now-g.last >= max(r.cfg.Repair, r.silence()):
		r.askChunks(l, 0, min(l.chunks, g.top+1+g.reach), r.putLimit(l), l.turn(g.tries), false, f)
		g.tries++
		g.reach = min(2*g.reach, maxReach)
	}
}

// putLimit is how many chunks a request in silence may ask for: all if there are no other requests.
func (r *Recovery) putLimit(l *Losses) int {
	if !r.cfg.Direct {
		return l.chunks
	}
	return l.some(l.gaps.tries)
}

// normalize makes the last datagram as old as a silence.
func (g *gaps) normalize(now, repair moment.Time) {
	g.given = false
	g.pass.normalize()
	if g.first != 0 {
		g.first, g.last, g.told = now, now-repair, now
	}
}
