package fixpoint

import "slices"

// engine.cast holds, by multicast, the rank that has made it, or one of these values. Once two
// ranks have made a multicast, every rank has its chunk.
const (
	castNobody = -1
	castAll    = -2
)

// engine is the state of one run. The queue holds slots in the order in which they become set,
// which is the order of their rounds.
type engine struct {
	*System
	Result
	m       Model
	missing []int32 // by rule: how many slots it still waits for
	queue   []int32 // slots that are set
	head    int     // index in queue of the first slot whose waiters have not been woken
	local   []int32 // slots that rules have set here in this round and whose waiters have not been woken
	ready   []int32 // repairs whose When holds and that have not fired
	blocked map[int32]bool
	cast    []int32 // by multicast: the rank that has made it, castNobody or castAll
}

func newEngine(y *System, m Model) *engine {
	e := &engine{System: y, m: m,
		Result: Result{
			system: y,
			slots:  slices.Repeat([]int32{-1}, y.Slots()),
			causes: slices.Repeat([]int32{-1}, y.Slots()),
			rules:  slices.Repeat([]int32{-1}, y.Rules()),
			fired:  make([]int32, 0, y.Rules()),
		},
		missing: make([]int32, y.Rules()),
		queue:   make([]int32, 0, y.Slots()),
		cast:    slices.Repeat([]int32{castNobody}, len(y.casts)),
	}
	if len(m.Without) > 0 {
		e.blocked = make(map[int32]bool, len(m.Without))
	}
	for _, p := range m.Without {
		e.blocked[int32(y.layout.Slot(p.Rank, p.Slot))] = true
	}
	return e
}

// start sets the slots that are set from the beginning and fires the rules that wait for nothing.
func (e *engine) start() {
	for _, enter := range e.enter {
		e.set(enter, -1, 0)
	}
	for rank, enter := range e.enter {
		if e.slots[enter] < 0 {
			continue
		}
		for _, slot := range e.Given(rank) {
			e.set(slot, -1, 0)
		}
	}
	for _, a := range e.comes {
		e.set(a.Slot, -1, a.Round)
	}
	for rule := range e.missing {
		e.missing[rule] = int32(len(e.When(rule)))
		if e.missing[rule] == 0 {
			e.complete(int32(rule), 0)
		}
	}
}

func (e *engine) set(slot, cause, round int32) {
	if e.slots[slot] >= 0 || e.blocked[slot] {
		return
	}
	e.slots[slot], e.causes[slot] = round, cause
	e.queue = append(e.queue, slot)
}

// propagate wakes the waiters of all slots that are set. It wakes the waiters of slots that rules
// set here in this round before the waiters of later slots.
func (e *engine) propagate() {
	for e.head < len(e.queue) {
		e.wake(e.queue[e.head])
		e.head++
		for i := 0; i < len(e.local); i++ {
			e.wake(e.local[i])
		}
		e.local = e.local[:0]
	}
}

// wake tells the rules that wait for slot that it is set.
func (e *engine) wake(slot int32) {
	for _, rule := range e.Waiters(int(slot)) {
		e.missing[rule]--
		if e.missing[rule] == 0 {
			e.complete(rule, e.slots[slot])
		}
	}
}

// complete fires a rule that waits for nothing more. If the rule is a repair, complete keeps it for
// later or drops it, as the model says.
func (e *engine) complete(rule, round int32) {
	switch {
	case e.unless == nil || e.unless[rule] < 0 || e.m.EveryRepair:
		e.fire(rule, round)
	case e.m.Repairs:
		e.ready = append(e.ready, rule)
	}
}

func (e *engine) fire(rule, round int32) {
	e.rules[rule] = round
	e.fired = append(e.fired, rule)
	for _, s := range e.Does(int(rule)) {
		switch s.To {
		case All:
			e.mcast(rule, s.Slot, round+1)
		case Here:
			e.setAtOnce(s.Slot, rule, round)
		default:
			e.set(s.Slot, rule, round+1)
		}
	}
}

// setAtOnce sets a slot in the round of the rule, because what a rank does by itself takes no time.
func (e *engine) setAtOnce(slot, cause, round int32) {
	if e.slots[slot] >= 0 || e.blocked[slot] {
		return
	}
	e.slots[slot], e.causes[slot] = round, cause
	e.local = append(e.local, slot)
}

func (e *engine) mcast(cause, number, round int32) {
	from, by := e.owner[cause], &e.cast[number]
	slots := e.Cast(number)
	if e.m.LoseMcast || *by == castAll || *by == from && e.m.Lost == nil {
		return
	}
	if e.m.Lost == nil && *by != castNobody { // the first sender is the only rank that may still lack the chunk
		e.set(slots[*by], cause, round)
		*by = castAll
		return
	}
	*by = from
	for rank, slot := range slots {
		if int32(rank) != from && (e.m.Lost == nil || !e.m.Lost(int(from), rank, e.casts[number].chunk)) {
			e.set(slot, cause, round)
		}
	}
}

// repair fires the repairs that are needed when nothing else can happen, in the last round so far.
// It reports whether any fired.
func (e *engine) repair() bool {
	needed := e.neededRepairs()
	last := int32(0)
	if len(e.queue) > 0 {
		last = e.slots[e.queue[len(e.queue)-1]]
	}
	for _, rule := range needed {
		e.fire(rule, last)
	}
	return len(needed) > 0
}

// neededRepairs empties ready and returns the repairs of it whose Unless is not set. The others
// will never be needed, because a slot stays set.
func (e *engine) neededRepairs() []int32 {
	needed := e.ready[:0]
	for _, rule := range e.ready {
		if e.slots[e.unless[rule]] < 0 {
			needed = append(needed, rule)
		}
	}
	e.ready = nil
	return needed
}
