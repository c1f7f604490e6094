package sim

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/ir"
)

// sized is implemented by programs whose signals are messages of various lengths.
type sized interface {
	Programs
	signalBytes(rank, signal int) int
	largestSignal() int
}

// graph is the programs of a graph. A rank has a signal for each message that it receives. Then it
// has a signal for each of its operations that takes time or for which others of the rank wait.
type graph struct {
	whole
	g       *dag.Graph
	index   dag.Index
	mates   []int
	signals [][]int32 // by rank and signal: the operation
	arrival []int32   // by number of a receive: the signal of its message
	ends    []int32   // by number of an operation: the signal that is set when it ends, or unheard
	unit    int
	most    int
}

// unheard stands for the signal of an operation that no other waits for.
const unheard = -1

// OfGraph returns the programs of a schedule of another program. Each message is a signal of its
// receiver, with the length in the file, in units of unit bytes. Local work takes the CPU of its
// rank for the time in the file, and a fold takes it for Config.Fold a byte. OfGraph fails with a
// [*dag.Fault] if the graph cannot run to its end or if its run depends on timing. It fails with
// another error if a rank has several CPUs or interfaces, or if something is too long.
func OfGraph(name string, g *dag.Graph, unit int) (Programs, error) {
	if len(g.Ranks) < 1 || len(g.Ranks) > ir.MaxRanks {
		return nil, fmt.Errorf("%d ranks: must be in 1..%d", len(g.Ranks), ir.MaxRanks)
	}
	x := dag.NewIndex(g)
	mates, err := dag.Match(g, x)
	if err != nil {
		return nil, err
	}
	if _, err := dag.NewRun(g, x, mates); err != nil {
		return nil, err
	}
	p := &graph{
		g: g, index: x, mates: mates, signals: make([][]int32, len(g.Ranks)),
		arrival: make([]int32, x.Len()), ends: make([]int32, x.Len()), unit: unit,
	}
	p.s = &ir.Schedule{Header: ir.Header{Collective: "barrier", Algorithm: name, Ranks: len(g.Ranks)}}
	for rank := range g.Ranks {
		if err := p.check(rank); err != nil {
			return nil, err
		}
		p.number(rank)
		if n := len(p.signals[rank]); n > ir.MaxSignals {
			return nil, fmt.Errorf("rank %d: %d messages and operations that others wait for: more than %d", rank, n, ir.MaxSignals)
		}
	}
	if float64(p.most)*float64(unit) > maxTime {
		return nil, fmt.Errorf("a message of %d times %d bytes: too long", p.most, unit)
	}
	for rank := range g.Ranks {
		p.s.Programs = append(p.s.Programs, p.program(rank))
	}
	return p, nil
}

// check returns an error for what a rank of the models does not have, and records the longest
// message.
func (p *graph) check(rank int) error {
	ops := p.g.Ranks[rank]
	cpu, nic := -1, -1 // the first operations that use them
	for i := range ops {
		op := &ops[i]
		if op.Time < 0 || op.Time > maxTime {
			return fmt.Errorf("%s takes %d ns: must be in 0..%d", p.g.Tell(dag.Ref{Rank: rank, I: i}), op.Time, int64(maxTime))
		}
		p.most = max(p.most, op.Size, folded(op))
		switch {
		case op.Kind == dag.Local && !takesCPU(op):
			continue
		case cpu < 0:
			cpu = i
		case op.CPU != ops[cpu].CPU:
			return p.apart(rank, cpu, i, "CPU", ops[cpu].CPU, op.CPU)
		}
		switch {
		case op.Kind == dag.Local:
		case nic < 0:
			nic = i
		case op.NIC != ops[nic].NIC:
			return p.apart(rank, nic, i, "network interface", ops[nic].NIC, op.NIC)
		}
	}
	return nil
}

func (p *graph) apart(rank, a, b int, what string, ofA, ofB int32) error {
	return fmt.Errorf("%s is on %s %d and %s on %d: in the models a rank has one", p.g.Tell(dag.Ref{Rank: rank, I: a}), what, ofA,
		p.g.TellOp(dag.Ref{Rank: rank, I: b}), ofB)
}

func (p *graph) signalBytes(rank, signal int) int {
	return p.g.Ranks[rank][p.signals[rank][signal]].Size * p.unit
}

func (p *graph) largestSignal() int { return p.most * p.unit }

// work returns how long the operation of a signal takes the CPU of its rank, besides the time for
// the bytes that it folds.
func (p *graph) work(rank, signal int) (took Time, fold int) {
	op := &p.g.Ranks[rank][p.signals[rank][signal]]
	return Time(op.Time), folded(op) * p.unit
}

// folded returns the number of cells that an operation folds. In a receive that sends the result
// on, the receive folds.
func folded(op *dag.Op) int {
	if !op.Mix || op.Kind == dag.Send {
		return 0
	}
	return max(op.Read.Len, op.Write.Len)
}

// takesCPU reports whether an operation may take the CPU, apart from the cost of its message.
func takesCPU(op *dag.Op) bool { return op.Time > 0 || folded(op) > 0 }

// sent returns the signal that the sender of a message has for its send, or unheard.
func (p *graph) sent(to, signal int) int32 {
	return p.ends[p.mates[p.index.Of(to, int(p.signals[to][signal]))]]
}
