package loss

import "github.com/schedgen/schedgen/internal/core/internal/moment"

// A rank that hears nothing of a multicast cannot distinguish a late root from a lost multicast.
// The schedule's repairs can, but they take long if all is lost: each level of the tree waits
// longer than the level below it (paper 002, section 3.3.4), and starts waiting when it has the
// message. So a rank that has waited for a base timeout asks each rank that it may ask, once. If
// any rank has the message, it spreads from there as fast as puts are.
//
// This must not cost a late root. A rank that is asked and has not heard the multicast itself
// passes on only chunks that are put to it, since the asking rank hears the multicast too.

// Unheard reports whether nothing has been heard of the multicast, and there is a rank to ask.
func (l *Losses) Unheard() bool {
	return !l.Heard && l.unheard < len(l.ask) && !l.whole()
}

// Await makes the wait for the multicast begin at the next tick: the root's previous multicast has
// just been heard, and this one follows it.
func (l *Losses) Await() { l.since = 0 }

// unheardWait is how long to wait before the next rank is asked.
func (r *Recovery) unheardWait(l *Losses) moment.Time {
	return moment.Time(1+l.unheard) * max(r.cfg.Repair, r.silence())
}

// AskUnheard asks the next rank, if a request is due, for as much as a repair puts at first.
func (r *Recovery) AskUnheard(l *Losses, now moment.Time, f Facts) {
	if l.since == 0 {
		l.since = now
	}
	if !l.Unheard() || now < l.since+r.unheardWait(l) {
		return
	}
	to := int(l.ask[l.unheard])
	l.unheard++
	// The operation takes long: see Slow.
	r.beWary()
	r.askChunks(l, 0, l.chunks, l.some(0), to, true, f) // if there are too many requests, the schedule repairs
}
