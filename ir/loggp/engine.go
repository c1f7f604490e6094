package loggp

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/fixpoint"
)

// engine is the state of one run.
type engine struct {
	s       *ir.Schedule
	l       *fixpoint.Layout
	w       *fixpoint.Waiters
	p       Params
	wire    []Time  // by chunk: (s-1)·G
	set     []bool  // by slot number
	done    []bool  // by slot number: its rank's call waits for it
	missing []int32 // by rule number: slots that it still waits for
	ranks   []rank
	queues  pool
	casts   []cast // multicasts that have arrived
	events  events
	seq     int64 // number of what comes about next
}

// rank is one rank: until when it is busy, and what waits there.
type rank struct {
	cpu, out, in Time  // when the CPU and the interface's two directions are free
	rules        queue // rules that have fired and have sends left
	sent         int   // sends of the first of them that are done
	inbox        queue // puts that have arrived and are not received
	casts        int   // multicasts of engine.casts that are behind it
	wake         key   // of its event, never if it has none
	undone       int   // slots that its call waits for
	returns      Time
}

// cast is a multicast that has arrived. It arrives at all ranks at once, so one
// list serves them all: each keeps how far it has got.
type cast struct {
	seq   int64
	from  int32
	chunk ir.Slot
}

func (e *engine) run() error {
	if err := e.enter(); err != nil {
		return err
	}
	for len(e.events) > 0 {
		if err := e.step(e.events.pop()); err != nil {
			return err
		}
	}
	return nil
}

// enter sets what is set from the beginning, and then fires the rules that wait
// for nothing else.
func (e *engine) enter() error {
	for r := range e.ranks {
		e.set[e.l.Slot(r, ir.Enter)] = true
	}
	for k := 0; k < e.s.Chunks && e.s.HasMessage(); k++ {
		e.set[e.l.Slot(e.s.Root, ir.Chunk(k))] = true
	}
	for r := range e.ranks {
		if err := e.begin(r); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) begin(r int) error {
	p, own := &e.s.Programs[r], &e.ranks[r]
	*own = rank{wake: never, returns: Never}
	for _, s := range p.Done {
		id := e.l.Slot(r, s)
		if id < 0 {
			return fmt.Errorf("rank %d: there is no slot %v to be done with", r, s)
		}
		if !e.set[id] && !e.done[id] {
			own.undone++
		}
		e.done[id] = true
	}
	for i := range p.Rules {
		id := e.l.Rule(r, i)
		for _, s := range p.Rules[i].When {
			if !e.set[e.l.Slot(r, s)] {
				e.missing[id]++
			}
		}
		if e.missing[id] == 0 {
			e.fire(r, id)
		}
	}
	e.mayReturn(own)
	e.plan(r, 0)
	return nil
}

// step deals with an event, which is the first of all that are left.
func (e *engine) step(x event) error {
	r := int(x.rank)
	switch x.op {
	case ir.Put:
		e.queues.put(&e.ranks[r].inbox, x.seq, uint32(x.slot))
		return e.turn(r, x.key)
	case ir.Mcast:
		e.casts = append(e.casts, cast{x.seq, x.rank, x.slot})
		for r := range e.ranks {
			if err := e.turn(r, x.key); err != nil {
				return err
			}
		}
		return nil
	}
	if e.ranks[r].wake != x.key {
		return nil // something that came in between was before it
	}
	e.ranks[r].wake = never
	return e.turn(r, x.key)
}

// turn lets a rank do what it can do now, or plans when it can.
func (e *engine) turn(r int, now key) error {
	next, send := e.next(r, now.at)
	if next != now {
		e.plan(r, now.at)
		return nil
	}
	if send {
		if err := e.send(r, now.at); err != nil {
			return err
		}
	} else {
		e.receive(r, now.at)
	}
	e.plan(r, now.at)
	return nil
}

// plan sees to it that the rank has an event for what it can do next.
func (e *engine) plan(r int, now Time) {
	own := &e.ranks[r]
	if next, _ := e.next(r, now); next.before(own.wake) {
		own.wake = next
		e.events.push(event{key: next, rank: int32(r)})
	}
}

// next returns when and with which number a rank can begin something, at a time
// from now on, and whether that is a send.
func (e *engine) next(r int, now Time) (next key, send bool) {
	own := &e.ranks[r]
	next = never
	if own.rules.first > 0 {
		next = key{max(now, own.cpu, own.out), e.queues.at(own.rules.first).seq + int64(own.sent)}
		send = true
	}
	if _, seq, _ := e.oldest(r); seq >= 0 {
		if k := (key{max(now, own.cpu, own.in), seq}); k.before(next) {
			return k, false
		}
	}
	return next, send
}

// oldest returns the message that has waited longest at a rank, its number, or -1
// if there is none, and whether it is a multicast.
func (e *engine) oldest(r int) (slot ir.Slot, seq int64, mcast bool) {
	own := &e.ranks[r]
	for own.casts < len(e.casts) && int(e.casts[own.casts].from) == r {
		own.casts++
	}
	seq = -1
	if own.inbox.first > 0 {
		x := e.queues.at(own.inbox.first)
		slot, seq = ir.Slot(x.what), x.seq
	}
	if own.casts < len(e.casts) {
		if c := e.casts[own.casts]; seq < 0 || c.seq < seq {
			return c.chunk, c.seq, true
		}
	}
	return slot, seq, false
}

// send begins the next send of a rank, which is free for it.
func (e *engine) send(r int, now Time) error {
	own := &e.ranks[r]
	do := e.s.Programs[r].Rules[e.queues.at(own.rules.first).what].Do
	a := do[own.sent]
	x := event{rank: a.To, slot: a.Slot, op: a.Op}
	switch {
	case a.Op == ir.Mcast && a.Slot.Kind() == ir.KindChunk && a.Slot.Index() < e.s.Chunks:
		x.rank = int32(r)
	case a.Op != ir.Put || e.l.Slot(int(a.To), a.Slot) < 0:
		return fmt.Errorf("rank %d: %v of %v to rank %d: no such slot there", r, a.Op, a.Slot, a.To)
	}
	own.cpu, own.out = now+e.p.O, now+e.p.Gap+e.onWire(a.Slot)
	if own.sent++; own.sent == len(do) {
		e.queues.dropFirst(&own.rules)
		own.sent = 0
		e.mayReturn(own)
	}
	x.key = key{now + e.p.O + e.p.L, e.numbers(1)}
	e.events.push(x)
	return nil
}

// receive begins to receive the oldest message of a rank, which is free for it.
func (e *engine) receive(r int, now Time) {
	own := &e.ranks[r]
	slot, _, mcast := e.oldest(r)
	if mcast {
		own.casts++
	} else {
		e.queues.dropFirst(&own.inbox)
	}
	wire := e.onWire(slot)
	own.cpu, own.in = now+e.p.O+wire, now+e.p.Gap+wire
	if id := e.l.Slot(r, slot); !e.set[id] {
		e.assign(r, id)
	}
}

// assign sets a slot of a rank and fires the rules that waited for it alone.
func (e *engine) assign(r, id int) {
	e.set[id] = true
	for _, rule := range e.w.Of(id) {
		if e.missing[rule]--; e.missing[rule] == 0 {
			e.fire(r, int(rule))
		}
	}
	if e.done[id] {
		e.ranks[r].undone--
		e.mayReturn(&e.ranks[r])
	}
}

// fire queues the sends of the rule of the given number; they begin when the rank
// can.
func (e *engine) fire(r, id int) {
	i := id - e.l.Rule(r, 0)
	rule := &e.s.Programs[r].Rules[i]
	if !rule.IsRepair() && len(rule.Do) > 0 {
		e.queues.put(&e.ranks[r].rules, e.numbers(len(rule.Do)), uint32(i))
	}
}

// mayReturn notes when a rank's call returns: what the CPU does now is the last
// that the call waits for.
func (e *engine) mayReturn(own *rank) {
	if own.returns == Never && own.undone == 0 && own.rules.first == 0 {
		own.returns = own.cpu
	}
}

// onWire returns (s-1)·G of the message that carries the slot.
func (e *engine) onWire(slot ir.Slot) Time {
	if slot.Kind() == ir.KindChunk {
		return e.wire[slot.Index()]
	}
	return 0
}

// numbers gives out the next n numbers and returns the first.
func (e *engine) numbers(n int) int64 {
	e.seq += int64(n)
	return e.seq - int64(n)
}
