package fixpoint

import "github.com/schedgen/schedgen/ir"

// engine.cast holds, by multicast chunk, the rank that has multicast it, or one of these values.
// Once two ranks have multicast a chunk, every rank has it.
const (
	castNobody = -1
	castAll    = -2
)

// engine is the state of one run. The queue holds slots in the order in which they become set,
// which is the order of their rounds.
type engine struct {
	s       *ir.Schedule
	l       *Layout
	w       *Waiters
	m       Model
	slots   []int32
	rules   []int32
	missing []int32 // by rule: how many slots it still waits for
	queue   []int32 // slots that are set
	head    int     // index in queue of the first slot whose waiters have not been woken
	local   []int32 // slots that folds have set in this round and whose waiters have not been woken
	causes  []int32
	fired   []int32
	ready   []int32 // repairs whose When holds and that have not fired
	blocked map[int]bool
	cast    []int32 // by multicast chunk: the rank that has multicast it, castNobody or castAll
}

func newEngine(s *ir.Schedule, l *Layout, w *Waiters, m Model) *engine {
	e := &engine{s: s, l: l, w: w, m: m,
		slots:   filled(l.Slots(), -1),
		causes:  filled(l.Slots(), -1),
		rules:   filled(l.Rules(), -1),
		missing: make([]int32, l.Rules()),
		queue:   make([]int32, 0, l.Slots()),
		fired:   make([]int32, 0, l.Rules()),
		cast:    filled(l.Casts(), castNobody),
	}
	if len(m.Without) > 0 {
		e.blocked = make(map[int]bool, len(m.Without))
	}
	for _, p := range m.Without {
		e.blocked[l.Slot(p.Rank, p.Slot)] = true
	}
	return e
}

func filled(n int, v int32) []int32 {
	a := make([]int32, n)
	for i := range a {
		a[i] = v
	}
	return a
}

// start sets the slots that are set from the beginning and fires the rules that wait for nothing.
func (e *engine) start() {
	for r := range e.s.Programs {
		e.set(e.l.Slot(r, ir.Enter), -1, 0)
	}
	e.holdings()
	for r := range e.s.Programs {
		for i := range e.s.Programs[r].Rules {
			id := e.l.Rule(r, i)
			e.missing[id] = int32(len(e.s.Programs[r].Rules[i].When))
			if e.missing[id] == 0 {
				e.complete(id, 0)
			}
		}
	}
}

// holdings sets the chunks that ranks hold from enter on.
func (e *engine) holdings() {
	for rank := range e.s.Programs {
		if e.slots[e.l.Slot(rank, ir.Enter)] < 0 || e.s.Held(rank).Len() == 0 {
			continue
		}
		for id := range e.l.Held(e.s, rank) {
			e.set(id, -1, 0)
		}
	}
}

func (e *engine) set(slot, cause int, round int32) {
	if e.slots[slot] >= 0 || e.blocked[slot] {
		return
	}
	e.slots[slot], e.causes[slot] = round, int32(cause)
	e.queue = append(e.queue, int32(slot))
}

// propagate wakes the waiters of all slots that are set. It wakes the waiters of slots that folds set in
// this round before the waiters of later slots.
func (e *engine) propagate() {
	for e.head < len(e.queue) {
		e.wake(int(e.queue[e.head]))
		e.head++
		for i := 0; i < len(e.local); i++ {
			e.wake(int(e.local[i]))
		}
		e.local = e.local[:0]
	}
}

// wake tells the rules that wait for slot that it is set.
func (e *engine) wake(slot int) {
	for _, rule := range e.w.Of(slot) {
		e.missing[rule]--
		if e.missing[rule] == 0 {
			e.complete(int(rule), e.slots[slot])
		}
	}
}

// complete fires a rule that waits for nothing more. If the rule is a repair, complete keeps it for
// later or drops it, as the model says.
func (e *engine) complete(id int, round int32) {
	rank, i := e.l.RuleOf(id)
	switch rule := &e.s.Programs[rank].Rules[i]; {
	case !rule.IsRepair() || e.m.EveryRepair:
		e.fire(id, rank, rule, round)
	case e.m.Repairs:
		e.ready = append(e.ready, int32(id))
	}
}

func (e *engine) fire(id, rank int, rule *ir.Rule, round int32) {
	e.rules[id] = round
	e.fired = append(e.fired, int32(id))
	for i, a := range rule.Do {
		switch {
		case a.Op == ir.Mcast:
			e.mcast(id, rank, a, round+1)
		case a.Op == ir.Put:
			e.set(e.l.Slot(int(a.To), a.Sets()), id, round+1)
		case i+1 == len(rule.Do) || !rule.Do[i+1].Joins:
			e.fold(e.l.Slot(rank, a.As), id, round)
		}
	}
}

// fold sets a slot that a fold makes, in the round of the fold's rule, because folds take no time.
func (e *engine) fold(slot, cause int, round int32) {
	if e.slots[slot] >= 0 || e.blocked[slot] {
		return
	}
	e.slots[slot], e.causes[slot] = round, int32(cause)
	e.local = append(e.local, int32(slot))
}

func (e *engine) mcast(cause, from int, a ir.Action, round int32) {
	cast := &e.cast[e.l.cast(a.Slot)]
	if e.m.Lost != nil && !e.m.LoseMcast {
		e.mcastSome(cause, from, a.Slot, round)
		return
	}
	if e.m.LoseMcast || *cast == castAll || *cast == int32(from) {
		return
	}
	if *cast != castNobody { // the first sender is the only rank that may still lack the chunk
		e.set(e.l.Slot(int(*cast), a.Slot), cause, round)
		*cast = castAll
		return
	}
	*cast = int32(from)
	for r := range e.s.Programs {
		if r != from {
			e.set(e.l.Slot(r, a.Slot), cause, round)
		}
	}
}

// mcastSome delivers a multicast to the ranks that do not lose it.
func (e *engine) mcastSome(cause, from int, chunk ir.Slot, round int32) {
	for r := range e.s.Programs {
		if r != from && !e.m.Lost(from, r, chunk.Index()) {
			e.set(e.l.Slot(r, chunk), cause, round)
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
	for _, id := range needed {
		rank, i := e.l.RuleOf(int(id))
		e.fire(int(id), rank, &e.s.Programs[rank].Rules[i], last)
	}
	return len(needed) > 0
}

// neededRepairs empties ready and returns the repairs of it whose Unless is not set. The others
// will never be needed, because a slot stays set.
func (e *engine) neededRepairs() []int32 {
	needed := e.ready[:0]
	for _, id := range e.ready {
		rank, i := e.l.RuleOf(int(id))
		unless := e.l.Slot(rank, e.s.Programs[rank].Rules[i].Unless)
		if unless < 0 || e.slots[unless] < 0 {
			needed = append(needed, id)
		}
	}
	e.ready = nil
	return needed
}

func (e *engine) result() *Result {
	return &Result{e.s, e.l, e.slots, e.rules, e.causes, e.fired}
}
