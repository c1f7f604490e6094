package loss

import (
	"slices"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
)

// Rule is a repair rule of a schedule.
type Rule struct {
	Number int32
	After  int  // base timeouts after which it is due
	Chunks bool // it puts chunks, and not only signals
	To     int  // the rank that it puts to first
}

// repairs are the armed repair rules of an operation.
type repairs struct {
	list  []repair // every repair rule that has been armed, even if it no longer is
	armed int      // how many are armed
}

// repair is the state of one repair rule.
type repair struct {
	rule   Rule
	armed  bool
	spared bool        // postponed since the last tick
	behind bool        // earlier frames had not left when it was last due
	rounds int         // how often it has put a part of its chunks; 0: it is not in the middle of them
	due    moment.Time // 0: armed since the last tick, which sets the fields below
	wait   moment.Time
	since  moment.Time // when it was armed, or last carried out
}

// Arm starts the timer of a repair rule whose slots are set.
func (l *Losses) Arm(rule Rule) {
	l.repairs.list = append(l.repairs.list, repair{rule: rule, armed: true})
	l.repairs.armed++
}

// call ends a repair.
func (rs *repairs) call(p *repair) {
	p.armed = false
	rs.armed--
}

// disarm ends all repairs.
func (rs *repairs) disarm() { rs.list, rs.armed = rs.list[:0], 0 }

// Job is a repair to carry out.
type Job struct {
	Rule int32
	Most int // greatest number of chunks that it puts, without chunks that it has put before

	at    int         // index in the list of repairs
	again moment.Time // how long the next round waits if chunks are left
}

// Next returns where to look for the next job.
func (j Job) Next() int { return j.at + 1 }

// NextRepair returns the next repair that is due and still wanted, from index at on; ok is false if
// there is none. Carry the job out and call Repaired, then ask for the next one: what one repair
// puts may delay another.
func (r *Recovery) NextRepair(l *Losses, at int, now moment.Time, f Facts) (j Job, ok bool) {
	for rs := &l.repairs; at < len(rs.list) && rs.armed > 0; at++ {
		if p := &rs.list[at]; p.armed && r.isDue(l, p, now, f) {
			p.since = now
			j = Job{Rule: p.rule.Number, Most: l.some(p.rounds), at: at, again: max(1, r.cfg.Repair/4)}
			if r.slowly(l) {
				j.Most, j.again = l.chunksIn(fewBytes<<min(p.rounds, maxSome)), p.wait
			}
			r.repairs++
			r.pace.asked = true
			return j, true
		}
	}
	return Job{}, false
}

// isDue reports whether p is to be carried out now. It calls p off if p is not wanted any more.
func (r *Recovery) isDue(l *Losses, p *repair, now moment.Time, f Facts) bool {
	if p.due == 0 {
		r.stamp(l, p, now)
	}
	if p.spared {
		p.spared, p.due = false, now+p.wait
	}
	switch {
	case !f.Pending(p.rule.Number):
		l.repairs.call(p)
		return false
	case now < p.due:
		return false
	case p.rounds > 0 && f.Unsent():
		p.due = now + max(1, r.cfg.Repair/4) // the rest follows the frames that have left
		return false
	case p.rounds == 0 && p.rule.Chunks && (f.Unsent() || p.behind):
		// The multicast, or the last round, has not left, or has only just left. Another round
		// would only queue behind it. A round that takes long to leave takes as long to be
		// answered.
		p.behind = f.Unsent()
		p.wait = min(max(p.wait, now-p.since), moment.Longest(r.cfg.Repair))
		p.due = now + p.wait
		return false
	case !p.rule.Chunks && r.answered(l) && l.much():
		// The schedule asks for whole chunks; their missing parts are on their way.
		p.due = now + p.wait
		return false
	}
	return true
}

// stamp sets the times of a repair (paper 002, section 3.3.4: the timeout grows with the level in
// the tree).
func (r *Recovery) stamp(l *Losses, p *repair, now moment.Time) {
	after := p.rule.After
	p.since = now
	p.due = now + moment.Time(after)*r.cfg.Repair
	p.wait = moment.Time(max(after, 1)) * r.cfg.Repair
	if after > 0 && !p.rule.Chunks {
		p.wait = r.pace.patience(now, p.wait)
		p.due = now + p.wait
	}
	if g := &l.gaps; g.armed && p.rule.Chunks {
		// Frames that take long to arrive here take as long to others.
		if took := now - g.first; took > p.wait {
			p.wait = min(took, moment.Longest(r.cfg.Repair))
			p.due = now + p.wait
		}
	}
}

// slowly reports whether repairs put less, and wait longer. Where losses are seen, ranks ask by
// datagram for what they lack, and useless puts delay TCP for seconds.
func (r *Recovery) slowly(l *Losses) bool { return r.Losing() && l.bytes <= someBytes }

// Repaired records that a job has been carried out. more says that chunks are left to put. vain
// says that the operation has no bytes, so that a lane loses nothing. Asking for signals again
// would then bring nothing, and would look like progress to ranks that watch a dead one.
func (r *Recovery) Repaired(l *Losses, j Job, now moment.Time, more, vain bool) {
	p := &l.repairs.list[j.at]
	switch {
	case more:
		p.rounds++
		p.due = now + j.again
	case vain && !p.rule.Chunks:
		l.repairs.call(p)
	default:
		p.rounds = 0
		p.wait = min(2*p.wait, moment.Longest(r.cfg.Repair))
		p.due = now + p.wait
	}
}

// Spare postpones the repairs of rank, which is at work, or ends them if it has all chunks.
func (l *Losses) Spare(rank int, whole bool) {
	for i := range l.repairs.list {
		p := &l.repairs.list[i]
		if !p.armed || !p.rule.Chunks || p.rule.To != rank {
			continue
		}
		if p.spared = true; whole {
			l.repairs.call(p)
		}
	}
}

// normalize forgets repairs that have been called off, which are never armed again in this
// operation.
func (rs *repairs) normalize(now, repairTime moment.Time) {
	rs.list = slices.DeleteFunc(rs.list, func(p repair) bool { return !p.armed })
	slices.SortFunc(rs.list, func(a, b repair) int { return int(a.rule.Number - b.rule.Number) })
	for i := range rs.list {
		p := &rs.list[i]
		p.wait, p.since = repairTime, now
	}
}
