package core

import (
	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/internal/core/publish"
)

// Time without durations, for an exploration of every order of events. All timers of a core are
// alarms. The explorer decides which alarm is next, not the duration of each: clocks of ranks need
// not agree, processes are delayed between any two steps, and a core must be right with timeouts of
// any length. So all future moments are equal to later, all past ones to noon, and it is always
// noon.
//
// This allows more than can happen: an alarm of four base timeouts may ring before one of a single
// base timeout. It leaves out effects of durations other than the order of alarms: a request's
// reach beyond 32 chunks (see package loss).

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
	AlarmProbe                    // the neighbour is asked which operation it runs
	AlarmSuspect                  // a rank that cannot be reached is given up; Index: the rank
	AlarmDispute                  // no rank has told both calls of a mismatch in time
	AlarmAck                      // rootless messages that have come are acknowledged; Index: their origin times the number of ranks
	AlarmLack                     // rootless messages that exist and have not come are asked for; Index: likewise
	AlarmLate                     // an acknowledgement of rootless messages is overdue; Index: likewise, plus the rank that owes it
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
	for _, a := range c.messages.Alarms(nil) {
		dst = append(dst, Alarm{AlarmAck + AlarmKind(a.Kind), 0, a.Origin*c.env.Size + a.Rank})
	}
	if c.fate.disputes() {
		dst = append(dst, Alarm{AlarmDispute, 0, 0})
	}
	for seq := c.ops.complete + 1; seq <= c.ops.seq; seq++ {
		if o := c.ops.open(seq); o != nil {
			dst = o.alarms(dst)
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
	if rank, late := o.window.Late(&o.yields, &o.outbox); late {
		dst = append(dst, Alarm{AlarmWindow, o.seq, rank})
	}
	for _, rank := range o.yields.Late() {
		dst = append(dst, Alarm{AlarmYield, o.seq, rank})
	}
	set := o.lost.Alarms()
	for _, rule := range set.Repairs {
		dst = append(dst, Alarm{AlarmRepair, o.seq, rule})
	}
	if set.Again {
		dst = append(dst, Alarm{AlarmAgain, o.seq, 0})
	}
	if set.Silence {
		dst = append(dst, Alarm{AlarmSilence, o.seq, 0})
	}
	if set.Unheard {
		dst = append(dst, Alarm{AlarmUnheard, o.seq, 0})
	}
	return dst
}

// Ring makes alarm a due, and no other alarm, and ticks. a is one of Alarms. Ring reports whether
// Due announced a and nothing before a. If not, a driver that looks at the clock only when Due says
// would sleep too long.
func (c *Core) Ring(a Alarm) (announced bool) {
	if due, ok := c.Due(); ok && due <= noon {
		return false // a due alarm that no driver knows of
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
		o.lost.RingRepair(a.Index, noon)
	case AlarmAgain:
		o.lost.RingAgain(noon)
	case AlarmSilence:
		o.lost.RingSilence(noon, c.env.Repair)
	case AlarmUnheard:
		o.pulse.OpenSince(o.lost.UnheardSince(noon, c.env.Repair))
	case AlarmProbe:
		o.pulse.Ring(noon, c.env.Stall)
	case AlarmAck, AlarmLack, AlarmLate:
		c.messages.Ring(publish.Alarm{Kind: publish.AlarmKind(a.Kind - AlarmAck), Origin: a.Index / c.env.Size, Rank: a.Index % c.env.Size}, noon)
	}
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
	c.messages.Normalize(later)
	if c.ops.delay > 0 {
		c.ops.delay = adaptiveStart
	}
	for i := range c.ops.ring {
		c.ops.ring[i].normalize(c.env.Repair)
	}
	c.ops.peers.Normalize()
	c.ops.loss.Normalize()
}

// normalize moves the moments of an operation; see Normalize.
func (o *op) normalize(repair Time) {
	o.pulse.Normalize(noon)
	if o.gate.until != 0 {
		o.gate.until = later
	}
	o.window.Normalize(noon)
	o.yields.Normalize(noon)
	o.lost.Normalize(noon, later, repair)
}
