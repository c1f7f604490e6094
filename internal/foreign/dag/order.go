package dag

import (
	"strings"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
)

// Run is a graph as a schedule, and the run of that schedule.
type Run struct {
	// Schedule has a rule for each operation, in the order of the operations. Signal j of a rank is
	// the message of its j-th receive. Behind these, the rank has a signal for each operation,
	// which it puts to itself when the operation has ended. A rank enters when it starts, and is
	// done when all messages of others have come.
	Schedule *ir.Schedule
	System   *fixpoint.System

	// Order holds the numbers of all operations, each after all operations that must end before it.
	Order []int32

	g     *Graph
	x     Index
	mates []int
	recvs [][]int32 // by rank and signal: the index of the receive
}

// NewRun runs g. x and mates are the results of [NewIndex] and [Match] for g. The error is a
// [*Fault] if operations wait for each other in a cycle.
func NewRun(g *Graph, x Index, mates []int) (*Run, error) {
	r := &Run{g: g, x: x, mates: mates, recvs: make([][]int32, len(g.Ranks))}
	message := make([]int32, x.Len()) // by number of a receive: its signal
	for rank := range g.Ranks {
		for i := range g.Ranks[rank] {
			if g.Ranks[rank][i].Kind == Recv {
				message[x.Of(rank, i)] = int32(len(r.recvs[rank]))
				r.recvs[rank] = append(r.recvs[rank], int32(i))
			}
		}
	}
	r.Schedule = &ir.Schedule{Header: ir.Header{Collective: "barrier", Algorithm: "imported", Ranks: len(g.Ranks)}}
	for rank := range g.Ranks {
		r.Schedule.Programs = append(r.Schedule.Programs, r.program(rank, func(send int) ir.Slot { return ir.Signal(int(message[mates[x.Of(rank, send)]])) }))
	}
	var err error
	if r.System, err = fixpoint.NewSystem(r.Schedule); err != nil {
		return nil, err
	}
	res := r.System.Run(fixpoint.Model{})
	if r.Order = res.Fired(); len(r.Order) == x.Len() {
		return r, nil
	}
	stuck := 0
	for res.Rules()[stuck] >= 0 {
		stuck++
	}
	ref := x.Ref(stuck)
	path, _ := res.WhyNever(r.System.Layout().Slot(ref.Rank, r.end(ref.Rank, ref.I)))
	ops := make([]Ref, len(path))
	for i, slot := range path {
		p := r.System.Layout().PlaceOf(slot)
		if j := p.Slot.Index(); j < len(r.recvs[p.Rank]) { // the message comes when its send ends
			ops[i] = x.Ref(mates[x.Of(p.Rank, int(r.recvs[p.Rank][j]))])
		} else {
			ops[i] = Ref{p.Rank, j - len(r.recvs[p.Rank])}
		}
	}
	return nil, g.cycle(ops)
}

// program returns the program of a rank. message returns the signal of the receiver that a send
// sets.
func (r *Run) program(rank int, message func(send int) ir.Slot) ir.Program {
	ops, recvs := r.g.Ranks[rank], len(r.recvs[rank])
	waits, does := len(ops), len(ops)
	for i := range ops {
		waits += len(ops[i].After) + 1
		does++
	}
	when, do := make([]ir.Slot, 0, waits), make([]ir.Action, 0, does)
	p := ir.Program{Rank: rank, Signals: recvs + len(ops), Rules: make([]ir.Rule, len(ops)), Done: []ir.Slot{ir.Enter}}
	for j, i := range r.recvs[rank] {
		if ops[i].Peer != rank {
			p.Done = append(p.Done, ir.Signal(j))
		}
	}
	came := 0
	for i := range ops {
		op, w, d := &ops[i], len(when), len(do)
		for _, a := range op.After {
			when = append(when, r.end(rank, int(a)))
		}
		if op.Kind == Recv {
			when, came = append(when, ir.Signal(came)), came+1
		}
		if len(when) == w || op.Kind == Recv && len(op.After) == 0 {
			when = append(when, ir.Enter)
		}
		if op.Kind == Send {
			do = append(do, ir.PutTo(message(i), op.Peer))
		}
		do = append(do, ir.PutTo(r.end(rank, i), rank))
		p.Rules[i] = ir.Rule{When: when[w:], Do: do[d:]}
	}
	return p
}

// end returns the signal that a rank puts to itself when operation i has ended.
func (r *Run) end(rank, i int) ir.Slot { return ir.Signal(len(r.recvs[rank]) + i) }

// RecvOf returns the receive whose message a signal is. ok is false if it is not a message.
func (r *Run) RecvOf(p fixpoint.Place) (recv Ref, ok bool) {
	if j := p.Slot.Index(); p.Slot.Kind() == ir.KindSignal && j < len(r.recvs[p.Rank]) {
		return Ref{p.Rank, int(r.recvs[p.Rank][j])}, true
	}
	return Ref{}, false
}

// maxTold is how many operations of a cycle are printed.
const maxTold = 12

// cycle returns the fault of operations that wait for each other. The first is also the last.
func (g *Graph) cycle(ops []Ref) *Fault {
	var ranks []int
	var names []string
	seen := make(map[int]bool)
	for i, ref := range ops {
		if !seen[ref.Rank] {
			seen[ref.Rank] = true
			ranks = append(ranks, ref.Rank)
		}
		switch {
		case i < maxTold || i == len(ops)-1:
			names = append(names, g.Tell(ref))
		case i == maxTold:
			names = append(names, "…")
		}
	}
	return faultf(ranks, "%s, a cycle", strings.Join(names, " waits for "))
}
