package core

// A rank that hears nothing of a multicast cannot distinguish a late root from a lost multicast.
// The schedule's repairs can, but they take long if all is lost: each level of the tree waits
// longer than the one below it (paper 002, section 3.3.4), and starts waiting when it has the
// message. So a rank that has waited for a base timeout asks each rank that it may ask, once. If
// the message is anywhere, it spreads from there as fast as puts are.
//
// This must not cost a late root. A rank that is asked and has not heard the multicast itself
// passes on only what is put to it; what it hears by multicast, the asking rank hears too.

// unheardDue returns when to ask the next rank.
func (rc *recovery) unheardDue(o *op) Time {
	if o.pulse.Since() == 0 || !rc.deaf(o) {
		return never
	}
	return max(o.pulse.Since(), rc.heardBefore(o)) + Time(1+o.lost.cries)*max(rc.Repair, rc.silence())
}

// heardBefore returns when the previous multicast of the same root was last heard, since that of o
// follows it; 0 if it was not heard.
func (rc *recovery) heardBefore(o *op) Time {
	for seq := o.seq - 1; seq > 0 && seq+Remembered > o.seq; seq-- {
		if p := rc.ops.lookup(seq); p != nil && p.root == o.root && p.lost.gaps.last > 0 {
			return p.lost.gaps.last
		}
	}
	return 0
}

// deaf reports whether o has heard nothing, and there is a rank to ask.
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
	rc.want(o, 0, o.chunks, rc.some(o, 0), to, mayBeLate) // if there are too many requests, the schedule repairs
}

// premature reports whether a request for chunks that may be late may have been made before the
// multicast left: parts of the multicast are still leaving, or no tick has passed since it began,
// so the request has waited for the root to begin.
func (o *op) premature(rank int) bool {
	return o.root == rank && (o.unsent > 0 || o.pulse.Since() == 0)
}

// excuse forgets that chunk k, which has arrived by datagram, is owed to ranks that may get it
// late: they hear the multicast too, or ask for what they have lost of it.
func (l *losses) excuse(k int) {
	for i := range l.debts {
		if d := &l.debts[i]; d.late.Remove(k) {
			d.chunks.Remove(k)
		}
	}
}
