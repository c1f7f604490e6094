package runtime

import (
	"time"

	"github.com/schedgen/schedgen/ir"
)

// repair is an armed repair rule of the running operation.
type repair struct {
	rule   int32
	armed  bool
	behind bool // what was sent before it had not left when it was last due
	due    time.Time
	wait   time.Duration
	since  time.Time // when it was armed
}

// maxBackoff bounds the growing waits of a repair, in base timeouts.
const maxBackoff = 64

// arm starts the clock of a repair rule whose slots are set (paper 002,
// section 3.3.4: the timeout grows with the level in the tree).
func (c *Comm) arm(o *op, rule int32) {
	after, _ := o.plan.program.Repair(rule)
	now := c.clock.Now()
	r := repair{
		rule: rule, armed: true, since: now,
		due:  now.Add(time.Duration(after) * c.cfg.Repair),
		wait: time.Duration(max(after, 1)) * c.cfg.Repair,
	}
	if o.gaps.armed && carries(o.plan.program.Actions(rule)) {
		// What took so long to come here does so to others.
		if took := now.Sub(o.gaps.first); took > r.wait {
			r.wait = min(took, maxBackoff*c.cfg.Repair)
			r.due = now.Add(r.wait)
		}
	}
	o.repairs = append(o.repairs, r)
	o.armed++
}

// repair carries out the repairs of o that are due and still wanted.
func (c *Comm) repair(o *op, now time.Time) {
	for i := 0; i < len(o.repairs) && o.armed > 0; i++ {
		r := &o.repairs[i]
		if !r.armed {
			continue
		}
		if r.rule == gapRule {
			c.checkGaps(o, r, now)
			continue
		}
		if !o.machine.Pending(r.rule) {
			r.armed = false
			o.armed--
			continue
		}
		if now.Before(r.due) {
			continue
		}
		actions := o.plan.program.Actions(r.rule)
		if carries(actions) && (o.unsent > 0 || r.behind) {
			// The multicast, or the last round, has not even left, or has
			// just done so: another would only queue up behind it. What takes
			// so long to leave takes as long to be answered.
			r.behind = o.unsent > 0
			r.wait = min(max(r.wait, now.Sub(r.since)), maxBackoff*c.cfg.Repair)
			r.due = now.Add(r.wait)
			continue
		}
		c.act(o, actions)
		r.since = now
		c.totals.Repairs++
		r.wait = min(2*r.wait, maxBackoff*c.cfg.Repair)
		r.due = now.Add(r.wait)
	}
}

// carries reports whether actions put chunks, not only signals.
func carries(actions []ir.Action) bool {
	return len(actions) > 0 && actions[0].Slot.Kind() == ir.KindChunk
}
