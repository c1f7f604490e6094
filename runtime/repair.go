package runtime

import "time"

// repair is an armed repair rule of the running operation.
type repair struct {
	rule  int32
	armed bool
	due   time.Time
	wait  time.Duration
}

// maxBackoff bounds the growing waits of a repair, in base timeouts.
const maxBackoff = 64

// arm starts the clock of a repair rule whose slots are set (paper 002,
// section 3.3.4: the timeout grows with the level in the tree).
func (c *Comm) arm(o *op, rule int32) {
	after, _ := o.plan.program.Repair(rule)
	now := c.clock.Now()
	o.repairs = append(o.repairs, repair{
		rule: rule, armed: true,
		due:  now.Add(time.Duration(after) * c.cfg.Repair),
		wait: time.Duration(max(after, 1)) * c.cfg.Repair,
	})
	o.armed++
}

// repair carries out the repairs of o that are due and still wanted.
func (c *Comm) repair(o *op, now time.Time) {
	for i := 0; i < len(o.repairs) && o.armed > 0; i++ {
		r := &o.repairs[i]
		if !r.armed {
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
		// A put is reliable: while the last round has not even left, another
		// would only queue up behind it.
		if o.unsent == 0 {
			c.act(o, o.plan.program.Actions(r.rule))
			c.totals.Repairs++
		}
		r.wait = min(2*r.wait, maxBackoff*c.cfg.Repair)
		r.due = now.Add(r.wait)
	}
}
