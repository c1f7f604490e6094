package core

import (
	"github.com/schedgen/schedgen/ir"
)

// repairs are the armed repair rules of an operation.
type repairs struct {
	list  []repair // armed or not, one for every repair rule that ever was armed
	armed int      // how many are armed
}

// repair is one of them.
type repair struct {
	rule   int32
	armed  bool
	fresh  bool // armed since the last tick: nothing below is known yet
	spared bool // put off since the last tick
	behind bool // what was sent before it had not left when it was last due
	rounds int  // how often some of what it puts has been put, and not yet all; 0: none
	due    Time
	wait   Time
	since  Time // when it was armed
}

// maxBackoff bounds the growing waits of a repair, in base timeouts.
const maxBackoff = 64

// arm starts the clock of a repair rule whose slots are set.
func (rs *repairs) arm(rule int32) {
	rs.list = append(rs.list, repair{rule: rule, armed: true, fresh: true})
	rs.armed++
}

// call ends a repair.
func (rs *repairs) call(r *repair) {
	r.armed = false
	rs.armed--
}

// disarm ends all.
func (rs *repairs) disarm() { rs.list, rs.armed = rs.list[:0], 0 }

// due returns when the next one is due.
func (rs *repairs) due() Time {
	due := never
	for i := range rs.list {
		if r := &rs.list[i]; r.armed {
			due = min(due, r.due)
		}
	}
	return due
}

// stamp starts the clock of a repair (paper 002, section 3.3.4: the timeout
// grows with the level in the tree).
func (rc *recovery) stamp(o *op, r *repair, now Time) {
	after, _ := o.plan.program.Repair(r.rule)
	r.fresh, r.since = false, now
	r.due = now + Time(after)*rc.Repair
	r.wait = Time(max(after, 1)) * rc.Repair
	if after > 0 && !carries(o.plan.program.Actions(r.rule)) {
		r.wait = rc.pace.patience(now, r.wait)
		r.due = now + r.wait
	}
	if g := &o.lost.gaps; g.armed && carries(o.plan.program.Actions(r.rule)) {
		// What took so long to come here does so to others.
		if took := now - g.first; took > r.wait {
			r.wait = min(took, maxBackoff*rc.Repair)
			r.due = now + r.wait
		}
	}
}

// repair carries out the repairs of o that are due and still wanted.
func (rc *recovery) repair(o *op, now Time) {
	rs := &o.lost.repairs
	for i := 0; i < len(rs.list) && rs.armed > 0; i++ {
		if r := &rs.list[i]; r.armed {
			rc.repairOne(o, r, now)
		}
	}
}

func (rc *recovery) repairOne(o *op, r *repair, now Time) {
	if r.fresh {
		rc.stamp(o, r, now)
	}
	if r.spared {
		r.spared, r.due = false, now+r.wait
	}
	switch {
	case !o.machine.Pending(r.rule):
		o.lost.repairs.call(r)
		return
	case now < r.due:
		return
	}
	actions := o.plan.program.Actions(r.rule)
	if r.rounds > 0 && o.unsent > 0 {
		r.due = now + max(1, rc.Repair/4) // the rest follows what has left
		return
	}
	if r.rounds == 0 && carries(actions) && (o.unsent > 0 || r.behind) {
		// The multicast, or the last round, has not even left, or has
		// just done so: another would only queue up behind it. What takes
		// so long to leave takes as long to be answered.
		r.behind = o.unsent > 0
		r.wait = min(max(r.wait, now-r.since), maxBackoff*rc.Repair)
		r.due = now + r.wait
		return
	}
	if !carries(actions) && rc.answered(o) && o.lost.much(o) {
		// The schedule asks for whole chunks; what is missing of them is on its way.
		r.due = now + r.wait
		return
	}
	r.since = now
	most, again := rc.some(o, r.rounds), max(1, rc.Repair/4)
	if rc.slowly(o) {
		most, again = o.chunksIn(fewBytes<<min(r.rounds, maxSome)), r.wait
	}
	if rc.carryOut(o, actions, most) {
		r.rounds++
		r.due = now + again
		return
	}
	if o.empty() && !carries(actions) {
		// A lane loses nothing: to ask again brings nothing, and looks like progress to who
		// watches a rank that is dead.
		o.lost.repairs.call(r)
		return
	}
	r.rounds = 0
	r.wait = min(2*r.wait, maxBackoff*rc.Repair)
	r.due = now + r.wait
}

// some is how many chunks are put at once that nobody has asked for, or are asked for in
// silence: little at first, for what is missing may only be late, and after that twice as
// much each time. What is put in vain keeps the signals behind it waiting.
func (rc *recovery) some(o *op, times int) int {
	return o.chunksIn(someBytes << min(times, maxSome))
}

// chunksIn returns how many chunks are about so many bytes, at least one.
func (o *op) chunksIn(bytes int) int { return max(1, bytes*o.chunks/max(1, o.bytes())) }

// slowly reports whether repairs put less, and wait longer: where losses are seen, who lacks
// something asks for it by datagram, and what is put in vain holds up TCP for seconds.
func (rc *recovery) slowly(o *op) bool { return rc.losing() && o.bytes() <= someBytes }

const (
	someBytes = 256 << 10
	fewBytes  = 2 << 10
	maxSome   = 24
)

// much reports whether the chunks of o that have not come are more bytes than that.
func (l *losses) much(o *op) bool { return l.missing(o)*(o.bytes()/max(1, o.chunks)) > someBytes }

// carryOut does what a repair says, chunks that have been put to their rank
// before excepted, and no more than so many of the others; it reports whether some are
// left.
func (rc *recovery) carryOut(o *op, actions []ir.Action, most int) (more bool) {
	rc.repairs++
	rc.trace(EventRepair, o.seq, actions[0].Slot, int(actions[0].To))
	rc.repairing, rc.pace.asked = true, true
	defer func() { rc.repairing = false }()
	for i, a := range actions {
		if a.Op == ir.Put && a.Slot.Kind() == ir.KindChunk {
			if most == 0 {
				return true
			}
			if !rc.first(o, a) {
				continue
			}
			most--
		}
		rc.ops.act(o, actions[i:i+1])
	}
	return false
}

// first reports whether a chunk is put to its rank for the first time. If that is
// not kept track of, a rank that may have to be waited for is passed over: the
// repair is made again.
func (rc *recovery) first(o *op, a ir.Action) bool {
	s := o.lost.serviceOf(int(a.To), o.chunks)
	if s == nil {
		return rc.ops.settledBefore(o) || o.waits.entered.has(int(a.To))
	}
	return s.once(a.Slot.Index())
}

// spare puts the repairs of rank off, or ends them if it has all chunks.
func (rc *recovery) spare(o *op, rank int, whole bool) {
	rs := &o.lost.repairs
	for i := range rs.list {
		r := &rs.list[i]
		if !r.armed || !repairsRank(o, r, rank) {
			continue
		}
		if r.spared = true; whole {
			rs.call(r)
		}
	}
}

// repairsRank reports whether r puts chunks to rank.
func repairsRank(o *op, r *repair, rank int) bool {
	actions := o.plan.program.Actions(r.rule)
	return carries(actions) && int(actions[0].To) == rank
}

// carries reports whether actions put chunks, not only signals.
func carries(actions []ir.Action) bool {
	return len(actions) > 0 && actions[0].Slot.Kind() == ir.KindChunk
}
