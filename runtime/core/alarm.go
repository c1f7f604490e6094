package core

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/core/internal/moment"
	"github.com/schedgen/schedgen/runtime/core/presence"
)

// Time without durations, for an exploration of every order of events. All timers of a core are
// alarms. The explorer decides which alarm is next, not the duration of each: clocks of ranks need
// not agree, processes are delayed between any two steps, and no timeout may be wrong whatever its
// length. So all future moments are equal to later, all past ones to noon, and it is always noon.
//
// This allows more than can happen: an alarm of four base timeouts may ring before one of a single
// base timeout. It leaves out effects of durations other than the order of alarms: a request's
// reach beyond 32 chunks (see firstReach).

const (
	noon  = Time(1 << 60)
	later = noon + 1<<59
)

// AlarmKind is the kind of an alarm.
type AlarmKind uint8

// The kinds of alarms.
const (
	AlarmGate    AlarmKind = iota // the root's delay is over
	AlarmWindow                   // a late rank is no longer waited for; Index: the rank
	AlarmYield                    // puts that wait for a silent rank's reports go; Index: the rank
	AlarmRepair                   // a repair is due; Index: its rule
	AlarmAgain                    // chunks that a request has not brought are asked for again
	AlarmSilence                  // the multicast has been silent
	AlarmUnheard                  // nothing has been heard of the multicast
	AlarmProbe                    // the neighbour is asked what it runs
	AlarmSuspect                  // a rank that cannot be reached is given up; Index: the rank
	AlarmDispute                  // no rank has told both calls of a mismatch in time
	AlarmAck                      // rootless messages that have come are acknowledged; Index: their origin
	AlarmLack                     // those that are known of and have not come are asked for; Index: their origin
	AlarmLate                     // an acknowledgement of them is overdue; Index: their origin times the number of ranks, plus the rank that owes it
)

// Alarm is a timer of a core.
type Alarm struct {
	Kind  AlarmKind
	Seq   uint64 // the operation; 0 if the alarm is of no operation
	Index int
}

// Alarms appends the alarms that are set to dst. Call it after Normalize.
func (c *Core) Alarms(dst []Alarm) []Alarm {
	for _, a := range c.members.All() {
		if a.State == presence.Suspected {
			dst = append(dst, Alarm{AlarmSuspect, 0, a.Rank})
		}
	}
	if c.fate.err != nil {
		return dst
	}
	dst = c.spread.alarms(dst)
	if c.fate.disputes() {
		dst = append(dst, Alarm{AlarmDispute, 0, 0})
	}
	for seq := c.ops.complete + 1; seq <= c.ops.seq; seq++ {
		if o := c.ops.open(seq); o != nil {
			dst = o.alarms(dst)
			if c.rec.deaf(o) {
				dst = append(dst, Alarm{AlarmUnheard, o.seq, 0})
			}
		}
	}
	if o := c.ops.oldest(); o != nil && c.env.Size > 1 {
		dst = append(dst, Alarm{AlarmProbe, o.seq, 0})
	}
	return dst
}

// alarms appends the alarms of o except AlarmProbe.
func (o *op) alarms(dst []Alarm) []Alarm {
	if o.gate.closed && o.gate.peer < 0 {
		dst = append(dst, Alarm{AlarmGate, o.seq, 0})
	}
	if rank, late := o.window.Late(&o.yields); late {
		dst = append(dst, Alarm{AlarmWindow, o.seq, rank})
	}
	for _, rank := range o.yields.Late() {
		dst = append(dst, Alarm{AlarmYield, o.seq, rank})
	}
	for i := range o.lost.repairs.list {
		if r := &o.lost.repairs.list[i]; r.armed {
			dst = append(dst, Alarm{AlarmRepair, o.seq, int(r.rule)})
		}
	}
	if g := &o.lost.gaps; g.armed {
		if g.pass.again != 0 {
			dst = append(dst, Alarm{AlarmAgain, o.seq, 0})
		}
		dst = append(dst, Alarm{AlarmSilence, o.seq, 0})
	}
	return dst
}

// Ring makes a, one of Alarms, due, and no other alarm, and ticks. It reports whether Due announced
// a and nothing before a. If not, a driver that looks at the clock only when Due says would sleep
// too long.
func (c *Core) Ring(a Alarm) (announced bool) {
	if due, ok := c.Due(); ok && due <= noon { // a due alarm that no driver knows of
		return false // an alarm that nobody knows of
	}
	o := c.ops.open(a.Seq)
	switch a.Kind {
	case AlarmSuspect:
		c.members.Of(a.Index).Until = noon
	case AlarmDispute:
		c.fate.dispute.Defer(noon)
	case AlarmGate:
		o.gate.until = noon
	case AlarmWindow:
		o.window.Ring(noon, c.env.Repair)
	case AlarmYield:
		c.ops.peers.Ring(&o.yields, a.Index, noon)
	case AlarmRepair:
		for i := range o.lost.repairs.list {
			if r := &o.lost.repairs.list[i]; int(r.rule) == a.Index {
				r.due = noon
			}
		}
	case AlarmAgain:
		o.lost.gaps.pass.again = noon
	case AlarmSilence:
		o.lost.gaps.quiet, o.lost.gaps.last = noon, noon-c.env.Repair
	case AlarmUnheard:
		o.pulse.OpenSince(noon - Time(1+o.lost.cries)*c.env.Repair)
	case AlarmProbe:
		o.pulse.Ring(noon, c.env.Stall)
	}
	c.spread.ring(a)
	due, ok := c.Due()
	c.Tick(noon)
	c.Normalize()
	return ok && due <= noon
}

// Normalize is called after every other step. It ticks as a driver would, and moves all moments to
// later or noon, so that cores that differ only in durations become equal.
func (c *Core) Normalize() {
	if c.Timed() {
		c.Tick(noon)
	}
	for _, a := range c.members.All() {
		if a.State == presence.Suspected {
			c.members.Of(a.Rank).Until = later
		}
	}
	if c.fate.disputes() {
		c.fate.dispute.Defer(later)
	}
	c.spread.normalize()
	if c.ops.delay > 0 {
		c.ops.delay = adaptiveStart
	}
	for i := range c.ops.ring {
		c.rec.normalizeTimes(&c.ops.ring[i])
	}
	c.rec.asks.answers, c.rec.rhythm = moment.Delay{}, moment.Delay{}
	c.ops.peers.Normalize()
	c.rec.doubles = c.rec.doubles[:0] // a repeated datagram is like a late put
	c.rec.asks.datagrams.normalize()
	c.rec.asks.puts.normalize()
}

func (rc *recovery) normalizeTimes(o *op) {
	o.pulse.Normalize(noon)
	if o.gate.until != 0 {
		o.gate.until = later
	}
	o.window.Normalize(noon)
	o.yields.Normalize(noon)
	o.lost.repairs.normalize(rc.Repair)
	g := &o.lost.gaps
	g.given = false
	g.pass.normalize()
	if o.state != opFree { // the choice of the rank to ask depends on these only up to the number of ranks to ask: see asked
		last := max(0, len(o.plan.recovery.Ask)-1)
		g.tries, g.pass.tries = min(g.tries, last), min(g.pass.tries, max(0, last-1))
	}
	if g.first != 0 {
		g.first, g.last, g.quiet, g.told = noon, noon, later, noon
	}
	if o.chunks <= firstReach && g.armed {
		g.reach = firstReach
	}
}

// normalize forgets requests that have left.
func (r *askRing) normalize() {
	if !slices.ContainsFunc(r.list, func(a ask) bool { return a.unsent > 0 }) {
		*r = askRing{}
	}
}

// normalize forgets values that depend on durations, and counts that matter only while a pass is
// open.
func (p *pass) normalize() {
	if p.again != 0 {
		p.again = later
	}
	p.vain, p.last, p.sample, p.since, p.timed = 0, 0, none, 0, false
	if !p.open {
		p.from, p.to, p.turn = 0, 0, 0
		p.pending, p.recent, p.came, p.due = 0, 0, false, false
	}
}

// normalize forgets repairs that have been called off, which are never armed again in this
// operation.
func (rs *repairs) normalize(base Time) {
	rs.list = slices.DeleteFunc(rs.list, func(r repair) bool { return !r.armed })
	slices.SortFunc(rs.list, func(a, b repair) int { return int(a.rule - b.rule) })
	for i := range rs.list {
		if r := &rs.list[i]; !r.fresh {
			r.due, r.wait, r.since = later, base, noon
		}
	}
}
