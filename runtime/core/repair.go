package core

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core/internal/moment"
)

// repairs are the armed repair rules of an operation.
type repairs struct {
	list  []repair // one for every repair rule that has been armed, armed or not
	armed int      // how many are armed
}

// repair is the state of one repair rule.
type repair struct {
	rule   int32
	armed  bool
	fresh  bool // armed since the last tick: the fields below are not set
	spared bool // postponed since the last tick
	behind bool // earlier frames had not left when it was last due
	rounds int  // how often it has put a part of its chunks; 0: it is not in the middle of them
	due    Time
	wait   Time
	since  Time // when it was armed
}

// arm starts the timer of a repair rule whose slots are set.
func (rs *repairs) arm(rule int32) {
	rs.list = append(rs.list, repair{rule: rule, armed: true, fresh: true})
	rs.armed++
}

// call ends a repair.
func (rs *repairs) call(r *repair) {
	r.armed = false
	rs.armed--
}

// disarm ends all repairs.
func (rs *repairs) disarm() { rs.list, rs.armed = rs.list[:0], 0 }

// due returns when the next repair is due.
func (rs *repairs) due() Time {
	due := never
	for i := range rs.list {
		if r := &rs.list[i]; r.armed {
			due = min(due, r.due)
		}
	}
	return due
}

// stamp sets the times of a repair (paper 002, section 3.3.4: the timeout grows with the level in
// the tree).
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
		// Frames that take long to arrive here take as long to others.
		if took := now - g.first; took > r.wait {
			r.wait = min(took, moment.Longest(rc.Repair))
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
		r.due = now + max(1, rc.Repair/4) // the rest follows the frames that have left
		return
	}
	if r.rounds == 0 && carries(actions) && (o.unsent > 0 || r.behind) {
		// The multicast, or the last round, has not left, or has just done so. Another round would
		// only queue behind it. A round that takes long to leave takes as long to be answered.
		r.behind = o.unsent > 0
		r.wait = min(max(r.wait, now-r.since), moment.Longest(rc.Repair))
		r.due = now + r.wait
		return
	}
	if !carries(actions) && rc.answered(o) && o.lost.much(o) {
		// The schedule asks for whole chunks; their missing parts are on their way.
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
		// A lane loses nothing. Asking again would bring nothing, and would look like progress to
		// ranks that watch a dead one.
		o.lost.repairs.call(r)
		return
	}
	r.rounds = 0
	r.wait = min(2*r.wait, moment.Longest(rc.Repair))
	r.due = now + r.wait
}

// some is how many chunks are put at once that no rank has asked for, or are asked for in silence.
// It is small at first, since missing chunks may only be late, and doubles each time. Useless puts
// delay the signals behind them.
func (rc *recovery) some(o *op, times int) int {
	return o.chunksIn(someBytes << min(times, maxSome))
}

// chunksIn returns how many chunks have about the given number of bytes, at least one.
func (o *op) chunksIn(bytes int) int { return max(1, bytes*o.chunks/max(1, o.bytes())) }

// slowly reports whether repairs put less, and wait longer. Where losses are seen, ranks ask by
// datagram for what they lack, and useless puts delay TCP for seconds.
func (rc *recovery) slowly(o *op) bool { return rc.losing() && o.bytes() <= someBytes }

const (
	someBytes = 256 << 10
	fewBytes  = 2 << 10
	maxSome   = 24
)

// much reports whether more than someBytes bytes of o are missing.
func (l *losses) much(o *op) bool { return l.missing(o)*(o.bytes()/max(1, o.chunks)) > someBytes }

// carryOut carries out a repair, without chunks that have been put to their rank before, and with
// at most most of the others. It reports whether some are left.
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

// first reports whether a chunk is put to its rank for the first time. If that is not tracked, it
// skips a rank that may not have entered: the repair is made again.
func (rc *recovery) first(o *op, a ir.Action) bool {
	s := o.lost.serviceOf(int(a.To), o.chunks)
	if s == nil {
		return rc.ops.settledBefore(o) || o.waits.entered.Has(int(a.To))
	}
	return s.once(a.Slot.Index())
}

// spare postpones the repairs of rank, or ends them if it has all chunks.
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

// carries reports whether actions put chunks and not only signals.
func carries(actions []ir.Action) bool {
	return len(actions) > 0 && actions[0].Slot.Kind() == ir.KindChunk
}
