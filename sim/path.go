package sim

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// Op is the kind of a step of a critical path.
type Op uint8

// The operations of steps.
const (
	Enter   Op = iota + 1 // the rank has called
	Send                  // a send of the rank, until its CPU is free
	Receive               // a receive of the rank, until its CPU is free
	Work                  // work of the rank, until its CPU is free
	Fold                  // a fold of the rank, until its CPU is free
)

// String returns "enter", "send", "receive", "work" or "fold".
func (o Op) String() string {
	switch o {
	case Enter:
		return "enter"
	case Send:
		return "send"
	case Receive:
		return "receive"
	case Work:
		return "work"
	case Fold:
		return "fold"
	}
	return "op?"
}

// Step is one operation of a critical path. The next step begins when this one has ended or, at
// another rank, when the message of this one arrives.
type Step struct {
	Rank int
	Op   Op
	// Slots are the slots that are sent or received, under their names at the destination, or the
	// slot that a fold makes. They are enter for a message that opens the root's gate. Work has
	// none.
	Slots []ir.Slot
	Peer  int // the rank to which it is sent, or that has sent it; -1: all ranks, or none
	Begin Time
	End   Time
}

// path records for each operation what it had to wait for. The critical path is then found from the
// last return backwards.
type path struct {
	ops   []pathOp
	ranks []pathRank
}

// pathOp is an operation. before is the number of the operation for which it had to wait last, or
// -1 for the rank's call.
type pathOp struct {
	begin, end Time
	rank, peer int32
	slot       int32 // the slot, or the bundle
	before     int32
	op         Op
}

// pathRank holds the last operations that used the rank's CPU and its interface's directions, -1 if
// there are none, and the one with which its call returned.
type pathRank struct{ cpu, out, in, returned int32 }

func (p *path) reset(ranks int) {
	p.ops = p.ops[:0]
	p.ranks = slices.Grow(p.ranks[:0], ranks)[:ranks]
	for r := range p.ranks {
		p.ranks[r] = pathRank{-1, -1, -1, -1}
	}
}

func (p *path) addOp(x pathOp) int32 {
	p.ops = append(p.ops, x)
	return int32(len(p.ops) - 1)
}

// send records a send that begins now and returns its number.
func (p *path) send(own *rank, r int, now Time, c *cost, slot, to int32) int32 {
	last := &p.ranks[r]
	before := last.cpu
	if own.cpu != now && own.out == now {
		before = last.out
	}
	n := p.addOp(pathOp{now, now + c.sendCPU, int32(r), to, slot, before, Send})
	last.cpu, last.out = n, n
	return n
}

// receive records a receive that begins now.
func (p *path) receive(own *rank, r int, now Time, c *cost, x entry) {
	last := &p.ranks[r]
	before := x.from
	switch {
	case own.cpu == now:
		before = last.cpu
	case own.in == now && last.in >= 0:
		before = last.in
	}
	n := p.addOp(pathOp{now, now + c.recvCPU, int32(r), p.ops[x.from].rank, x.what, before, Receive})
	last.cpu, last.in = n, n
}

// work records work that begins now.
func (p *path) work(r int, now, took Time) {
	last := &p.ranks[r]
	last.cpu = p.addOp(pathOp{now, now + took, int32(r), -1, 0, last.cpu, Work})
}

// fold records a fold that begins now and makes the slot with the given number.
func (p *path) fold(r int, now, took Time, slot int32) {
	last := &p.ranks[r]
	last.cpu = p.addOp(pathOp{now, now + took, int32(r), -1, slot, last.cpu, Fold})
}

// critical returns the critical path to the last return, in the order of time.
func (e *engine) critical(enters, returns []Time) []Step {
	last := 0
	for r := range returns {
		if returns[r] > returns[last] {
			last = r
		}
	}
	if returns[last] == Never {
		return nil
	}
	var steps []Step
	rank := last
	for n := e.path.ranks[last].returned; n >= 0; {
		x := &e.path.ops[n]
		rank = int(x.rank)
		var slots []ir.Slot
		if x.op != Work {
			slots = e.slotsOf(x.slot)
		}
		steps = append(steps, Step{rank, x.op, slots, int(x.peer), x.begin, x.end})
		n = x.before
	}
	steps = append(steps, Step{Rank: rank, Op: Enter, Slots: []ir.Slot{ir.Enter}, Peer: -1, Begin: enters[rank], End: enters[rank]})
	slices.Reverse(steps)
	return steps
}
