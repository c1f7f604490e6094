package explore

import "slices"

// continuation runs the system on with a network that delivers again. Everything that can arrive
// does, nothing more is lost, calls return, and when nothing else can happen, all alarms ring in
// turn. Processes return from all open calls before they make another call: a call that would end
// only if a process went on waits forever.
//
// A continuation is only one of many ways on. But the search also reaches every state on the other
// ways, and the continuation from there ends as well. A run that never ended would thus have to
// delay forever an event that is possible at every moment.
type continuation struct {
	*search
	w      world
	passed [][2]uint64 // states that this run has passed
	now    map[[2]uint64]bool
	events []event
	will   []event
	bytes  []byte
}

// check runs on from w, which is state at, and records a violation if calls do not end. Other
// problems on the way are left to the search, which reaches them by a shorter way, unless it is
// stopped before.
func (c *continuation) check(w *world, at uint32) {
	c.w.copyFrom(w)
	c.passed, c.events = c.passed[:0], c.events[:0]
	clear(c.now)
	problem, forever := c.finish()
	switch {
	case forever:
		c.violated(problem, at, c.events, true)
		return
	case problem != "" && c.ahead == nil:
		events := slices.Clone(c.events)
		c.ahead = func() { c.violated(problem, at, events, false) }
	}
	for _, k := range c.passed {
		c.good.add(k)
	}
}

// finish returns the problem, or "". forever reports that the problem is a call that does not end.
func (c *continuation) finish() (problem string, forever bool) {
	for {
		known, again := c.pass()
		if known || c.ended(&c.w) {
			return "", false
		}
		if again {
			return c.waiting(&c.w), true
		}
		moved, problem := c.move()
		if !moved && problem == "" {
			problem = c.round()
		}
		if problem != "" {
			return problem, false
		}
	}
}

// pass records the present state. The remaining budgets make no difference to a continuation. Two
// states that differ only in how often a message waits in a lane count as one, because a repair is
// put again and again to a rank that never takes it.
func (c *continuation) pass() (known, again bool) {
	c.bytes = c.w.append(c.bytes[:0])
	k := c.good.hash(c.bytes[budgets:])
	if c.good.has(k) {
		return true, false
	}
	once := k
	if c.Full || len(c.reduction.kept) > 0 {
		c.bytes = c.w.appendOnce(c.bytes[:0])
		once = c.good.hash(c.bytes[budgets:])
	}
	if c.now[once] {
		return false, true
	}
	if c.now == nil {
		c.now = make(map[[2]uint64]bool)
	}
	c.now[once] = true
	c.passed = append(c.passed, k)
	return false, false
}

// move applies the first event that happens unless it is delayed forever.
func (c *continuation) move() (moved bool, problem string) {
	c.will = c.processes(&c.w, c.arrivals(&c.w, c.will[:0]), false)
	if len(c.will) == 0 {
		return false, ""
	}
	c.events = append(c.events, c.will[0])
	problem, _ = c.apply(&c.w, c.will[0])
	return true, problem
}

// round lets every alarm ring once, and after each alarm everything that it causes.
func (c *continuation) round() (problem string) {
	for rank := range c.Ranks {
		for _, a := range c.local(&c.w, rank).alarms {
			if c.ended(&c.w) {
				return ""
			}
			e := newEvent(evRing, rank, ofAlarm(a))
			if !c.stillSet(rank, e) || c.step(c.w.ranks[rank], e).idle {
				continue
			}
			c.events = append(c.events, e)
			if problem, _ := c.apply(&c.w, e); problem != "" {
				return problem
			}
			for moved := true; moved; {
				if moved, problem = c.move(); problem != "" {
					return problem
				}
			}
		}
	}
	return ""
}

func (c *continuation) stillSet(rank int, e event) bool {
	for _, a := range c.local(&c.w, rank).alarms {
		if newEvent(evRing, rank, ofAlarm(a)) == e {
			return true
		}
	}
	return false
}
