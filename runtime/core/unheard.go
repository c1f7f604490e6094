package core

// A rank that hears nothing of a multicast cannot tell a root that is late from one whose
// multicast is lost. The schedule's repairs can, but they take long where all is lost: each
// level of the tree waits longer than the one below it (paper 002, section 3.3.4), and begins to
// when it has the message. So a rank that has waited for a base timeout asks each of
// those that it may ask, once. If the message is anywhere, it comes to all from there as
// fast as puts are.
//
// A root that is late must not pay for that. Who is asked and has not heard the multicast itself
// passes on what it is put; what it hears by then, the other one hears, too.

// unheardDue returns when the next rank is asked.
func (rc *recovery) unheardDue(o *op) Time {
	if o.pulse.since == 0 || !rc.deaf(o) {
		return never
	}
	return max(o.pulse.since, rc.heardBefore(o)) + Time(1+o.lost.cries)*max(rc.Repair, rc.silence())
}

// heardBefore returns when the multicast before that of o, of the same root, was last heard: that of o comes behind
// it. 0: it was not.
func (rc *recovery) heardBefore(o *op) Time {
	for seq := o.seq - 1; seq > 0 && seq+Remembered > o.seq; seq-- {
		if p := rc.ops.lookup(seq); p != nil && p.root == o.root && p.lost.gaps.last > 0 {
			return p.lost.gaps.last
		}
	}
	return 0
}

// deaf reports whether o has heard nothing, and there is somebody to ask.
func (rc *recovery) deaf(o *op) bool {
	return !o.lost.heard && o.lost.cries < len(o.plan.recovery.Ask) && o.mayAsk() && !o.lost.whole(o)
}

// checkUnheard asks the next rank, for as much as a repair puts at first.
func (rc *recovery) checkUnheard(o *op, now Time) {
	if now < rc.unheardDue(o) {
		return
	}
	to := int(o.plan.recovery.Ask[o.lost.cries])
	o.lost.cries++
	rc.want(o, 0, o.chunks, rc.some(o, 0), to, mayBeLate) // if there are many requests already the schedule repairs
}

// premature reports whether a request for what may be late may have been made before the
// multicast left: some of that is leaving, or no time has passed since, so that the request has waited
// for the root to begin.
func (o *op) premature(rank int) bool { return o.root == rank && (o.unsent > 0 || o.pulse.since == 0) }

// excuse forgets that chunk k, which has come by datagram, is owed to ranks to which it may
// only be late: they hear the multicast, too, or ask for what they have lost of it.
func (l *losses) excuse(k int) {
	for i := range l.debts {
		if d := &l.debts[i]; unmark(d.late, k) {
			unmark(d.chunks, k)
		}
	}
}
