package sim

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/dag"
)

// sized is programs whose signals are messages of lengths of their own.
type sized interface {
	Programs
	signalBytes(rank, signal int) int
	largestSignal() int
}

// graph is the programs of a graph.
type graph struct {
	whole
	g     *dag.Graph
	index dag.Index
	recvs [][]int // by rank and signal: the operation
	unit  int
	most  int
}

// OfGraph returns the programs of a schedule of another program, in which each
// message is a signal of its receiver, as long as the file says in units of so many
// bytes. Local work takes no time. It fails with a [*dag.Fault] if the graph cannot run
// to its end, or if its run depends on timing.
func OfGraph(name string, g *dag.Graph, unit int) (Programs, error) {
	if len(g.Ranks) < 1 || len(g.Ranks) > ir.MaxRanks {
		return nil, fmt.Errorf("%d ranks: must be in 1..%d", len(g.Ranks), ir.MaxRanks)
	}
	x := dag.NewIndex(g)
	mates, err := dag.Match(g, x)
	if err != nil {
		return nil, err
	}
	order, err := dag.Order(g, x, mates)
	if err != nil {
		return nil, err
	}
	w, err := dag.NewWaits(g, x, mates, order)
	if err != nil {
		return nil, err
	}
	p := &graph{g: g, index: x, recvs: w.Recvs, unit: unit}
	p.s = w.Schedule(ir.Header{Collective: "barrier", Algorithm: name, Ranks: len(g.Ranks)})
	for rank := range g.Ranks {
		for i := range g.Ranks[rank] {
			p.most = max(p.most, g.Ranks[rank][i].Size)
		}
	}
	if float64(p.most)*float64(unit) > maxTime {
		return nil, fmt.Errorf("a message of %d times %d bytes: too long", p.most, unit)
	}
	return p, nil
}

func (p *graph) signalBytes(rank, signal int) int {
	ref := p.index.Ref(p.recvs[rank][signal])
	return p.g.Ranks[ref.Rank][ref.I].Size * p.unit
}

func (p *graph) largestSignal() int { return p.most * p.unit }
