package sim

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// Op is what a step of a critical path is.
type Op uint8

// The operations of steps.
const (
	Enter   Op = iota + 1 // the rank has called
	Send                  // a send of the rank, until its CPU is free
	Receive               // a receipt of the rank, until its CPU is free
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

// Step is one operation of a critical path. The next one begins when this one has
// ended or, if it is at another rank, when the message that it has sent comes.
type Step struct {
	Rank  int
	Op    Op
	Slots []ir.Slot // what is sent or received, as it is called where it goes, or what a fold makes; enter of a message by which a rank opens the root's gate; none of work
	Peer  int       // the rank that it is sent to, or that has sent it; -1: all, or nobody
	Begin Time
	End   Time
}

// path notes for each operation what it had to wait for, to find the critical path
// from the last return back.
type path struct {
	ops   []pathOp
	ranks []pathRank
}

// pathOp is an operation. What it had to wait for last is the operation numbered
// before, or the rank's call, -1.
type pathOp struct {
	begin, end Time
	rank, peer int32
	slot       int32 // or the bundle
	before     int32
	op         Op
}

// pathRank are the operations of a rank that have taken last what it has, -1 where
// there are none, and the one with which its call returned.
type pathRank struct{ cpu, out, in, returned int32 }

func (p *path) reset(ranks int) {
	p.ops = p.ops[:0]
	p.ranks = slices.Grow(p.ranks[:0], ranks)[:ranks]
	for r := range p.ranks {
		p.ranks[r] = pathRank{-1, -1, -1, -1}
	}
}

func (p *path) add(x pathOp) int32 {
	p.ops = append(p.ops, x)
	return int32(len(p.ops) - 1)
}

// send notes a send that begins now and returns its number.
func (p *path) send(own *rank, r int, now Time, c *cost, slot, to int32) int32 {
	last := &p.ranks[r]
	before := last.cpu
	if own.cpu != now && own.out == now {
		before = last.out
	}
	n := p.add(pathOp{now, now + c.sendCPU, int32(r), to, slot, before, Send})
	last.cpu, last.out = n, n
	return n
}

// receive notes the receipt, which begins now, of the message of a send.
func (p *path) receive(own *rank, r int, now Time, c *cost, x entry) {
	last := &p.ranks[r]
	before := x.from
	switch {
	case own.cpu == now:
		before = last.cpu
	case own.in == now && last.in >= 0:
		before = last.in
	}
	n := p.add(pathOp{now, now + c.recvCPU, int32(r), p.ops[x.from].rank, x.what, before, Receive})
	last.cpu, last.in = n, n
}

// work notes work that begins now.
func (p *path) work(r int, now, took Time) {
	last := &p.ranks[r]
	last.cpu = p.add(pathOp{now, now + took, int32(r), -1, 0, last.cpu, Work})
}

// fold notes a fold that begins now and makes the slot of that number.
func (p *path) fold(r int, now, took Time, slot int32) {
	last := &p.ranks[r]
	last.cpu = p.add(pathOp{now, now + took, int32(r), -1, slot, last.cpu, Fold})
}

// returns notes that the call of a rank returns with what its CPU does now.
func (p *path) returns(r int) { p.ranks[r].returned = p.ranks[r].cpu }

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
