package core

import (
	"github.com/schedgen/schedgen/internal/adapt"
	"github.com/schedgen/schedgen/internal/core/loss"
	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/internal/core/publish"
)

// A timer is a moment in the part that waits for it, and a tick of the part compares it with the
// time. The timer runs while the part waits. So starting or stopping a timer costs nothing, and a
// copy of a part has the part's timers. The method timers lists all timers of a core. Drivers (Due)
// and explorations (Alarms, Ring, Normalize) call it, because they do not know the parts.
//
// An exploration of every order of events has time without durations. All timers of a core are
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

// The kinds of alarms. The kinds of loss.Timer and publish.Timer have the same order.
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
	AlarmAck                      // rootless messages that have come are acknowledged; Index: their origin times the number of ranks; the origins of messages about questions follow
	AlarmLack                     // rootless messages that exist and have not come are asked for; Index: likewise
	AlarmLate                     // an acknowledgement of rootless messages is overdue; Index: likewise, plus the rank that owes it

	alarmOther // a timer that explorations leave out
)

// Alarm is a timer of a core.
type Alarm struct {
	Kind  AlarmKind
	Seq   uint64 // the operation; 0 if the alarm is of no operation
	Index int
}

// timers calls visit for every timer that runs, in an order that depends on the state alone. The
// timer is due span after began. The span is 0 if the part keeps the moment at which the timer is
// due; a moment of 0 then means that the next tick starts the timer. visit may change the moment.
func (c *Core) timers(visit func(a Alarm, began *Time, span Time)) {
	other := func(due *Time) { visit(Alarm{Kind: alarmOther}, due, 0) }
	absent := c.members.All()
	for i := range absent {
		if a := &absent[i]; a.State == presence.Suspected {
			visit(Alarm{AlarmSuspect, 0, a.Rank}, &a.Until, 0)
		}
	}
	agreeing := c.agreeing()
	if agreeing {
		other(&c.agree.ask)
	}
	if c.settling() {
		other(&c.agree.until)
	}
	if c.fate.err == nil || agreeing {
		c.watch.Timers(other)
	}
	if c.fate.err == nil {
		for i, m := range [...]*publish.Messages{c.messages, c.surveys.messages} {
			m.Timers(func(k publish.Timer, origin, rank int, due *Time) {
				visit(Alarm{AlarmAck + AlarmKind(k), 0, (i*c.env.Size+origin)*c.env.Size + rank}, due, 0)
			})
		}
		if c.fate.disputes() {
			visit(Alarm{AlarmDispute, 0, 0}, c.fate.dispute.Until(), 0)
		}
		c.ops.timers(visit)
		c.ops.loss.Repetitions(other)
		if c.ops.failsBy() {
			other(&c.ops.refusal.until)
		}
	}
}

// timers visits the timers of open operations.
func (ops *operations) timers(visit func(a Alarm, began *Time, span Time)) {
	for seq := ops.complete + 1; seq <= ops.seq; seq++ {
		o := ops.open(seq)
		if o == nil {
			continue
		}
		if o.gate.timed() {
			visit(Alarm{AlarmGate, seq, 0}, &o.gate.until, 0)
		}
		o.window.Timers(&o.yields, &o.outbox, ops.Repair, func(rank int, began *Time, span Time) {
			visit(Alarm{AlarmWindow, seq, rank}, began, span)
		})
		ops.peers.Timers(&o.yields, func(rank int, began *Time, span Time) {
			visit(Alarm{AlarmYield, seq, rank}, began, span)
		})
		ops.loss.Timers(&o.lost, func(k loss.Timer, rule int, began *Time, span Time) {
			visit(Alarm{AlarmRepair + AlarmKind(k), seq, rule}, began, span)
		})
	}
	if o := ops.oldest(); o != nil && ops.Size > 1 && ops.Stall > 0 {
		began, span := o.pulse.Timer(ops.Stall)
		visit(Alarm{AlarmProbe, o.seq, 0}, began, span)
	}
}

// Due returns when Tick next has something to do, as of the last Tick. ok is false if it has
// nothing to do.
func (c *Core) Due() (due Time, ok bool) {
	due = never
	c.timers(func(_ Alarm, began *Time, span Time) { due = min(due, *began+span) })
	return due, due != never
}

// Alarms appends the alarms that are set to dst. Call it after Normalize.
func (c *Core) Alarms(dst []Alarm) []Alarm {
	c.timers(func(a Alarm, _ *Time, _ Time) {
		if a.Kind != alarmOther {
			dst = append(dst, a)
		}
	})
	return dst
}

// Ring makes alarm a due, and no other alarm, and ticks. a is one of Alarms. Ring reports whether
// Due announced a and nothing before a. If not, a driver that looks at the clock only when Due says
// would sleep too long.
func (c *Core) Ring(a Alarm) (announced bool) {
	if due, ok := c.Due(); ok && due <= noon {
		return false // a due alarm that no driver knows of
	}
	c.timers(func(of Alarm, began *Time, span Time) {
		if of == a {
			*began = noon - span
		}
	})
	due, ok := c.Due()
	c.Tick(noon)
	c.Normalize()
	return ok && due <= noon
}

// Normalize is called after every other step. It ticks as a driver would, moves all moments to later
// or noon, and forgets what can have no effect any more. So cores that differ only in these become
// equal.
func (c *Core) Normalize() {
	if c.Timed() {
		c.Tick(noon)
	}
	c.timers(func(a Alarm, began *Time, _ Time) {
		if a.Kind != alarmOther {
			*began = later
		}
	})
	if c.ops.delay > 0 {
		c.ops.delay = adapt.Start
	}
	for i := range c.ops.ring {
		c.ops.ring[i].normalize(c.env.Repair)
		if c.ops.joined[i] <= c.ops.seq {
			c.ops.joined[i] = 0
		}
		if c.ops.earlies[i].seq <= c.ops.seq {
			c.ops.earlies[i] = earlies{}
		}
	}
	c.ops.ledger.Normalize()
	c.ops.absent.Normalize(c.ops.complete)
	c.ops.peers.Normalize(c.ops.seq)
	c.ops.loss.Normalize()
	c.messages.Normalize()
	c.fate.dispute.Normalize(c.fate.err != nil)
}

func (o *op) normalize(repair Time) {
	if o.state == opFree {
		*o = op{}
		return
	}
	o.pulse.Normalize(later)
	o.outbox.Normalize()
	o.window.Normalize(later)
	o.yields.Normalize(later)
	o.lost.Normalize(noon, repair, o.state == opActive)
	if o.state == opReturned {
		o.gate, o.entries = gate{met: o.gate.met}, entries{}
	}
}
