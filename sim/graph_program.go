package sim

import (
	"slices"

	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/ir"
)

// endOf returns the operation whose signal says that operation i has ended. An operation that waits
// for the start of a send or of work waits for its end, because the CPU is not free before. A
// started receive waits without the CPU.
func endOf(ops []dag.Op, i int32) int32 {
	if s := ops[i].StartOf; s > 0 && ops[s-1].Kind != dag.Recv {
		return s - 1
	}
	return i
}

// number assigns signals to the messages that a rank receives, and to its operations.
func (p *graph) number(rank int) {
	ops := p.g.Ranks[rank]
	needed := make([]bool, len(ops))
	for i := range ops {
		for _, a := range dag.Before(ops, i) {
			needed[endOf(ops, a)] = true
		}
	}
	var signals []int32
	add := func(i int) int32 {
		signals = append(signals, int32(i))
		return int32(len(signals) - 1)
	}
	for i := range ops {
		if ops[i].Kind == dag.Recv {
			p.arrival[p.index.Of(rank, i)] = add(i)
		}
	}
	for i := range ops {
		op, id, end := &ops[i], p.index.Of(rank, i), int32(unheard)
		switch {
		case op.Kind == dag.Recv && len(dag.Before(ops, i)) == 0 && !takesCPU(op):
			end = p.arrival[id]
		case needed[i], takesCPU(op):
			end = add(i)
		}
		p.ends[id] = end
	}
	p.signals[rank] = signals
}

// toOwn replaces the rank of a put for an operation of the rank itself: work, or a receive or join
// that ends when everything that it waits for has ended.
const toOwn = -2

// program returns the program of a rank, after all operations have been numbered. The rank returns
// when all messages have been received and all work is done. A send that others wait for sets its
// signal without an action ([graph.sent]).
func (p *graph) program(rank int) ir.Program {
	ops := p.g.Ranks[rank]
	out := ir.Program{Rank: rank, Signals: len(p.signals[rank]), Done: []ir.Slot{ir.Enter}}
	var sends []int32 // the When of the last rule, if it sends
	for i := range ops {
		switch op, id := &ops[i], p.index.Of(rank, i); {
		case op.StartOf > 0: // its rule comes before its operation's rule
		case op.Kind == dag.Recv:
			arrived := ir.Signal(int(p.arrival[id]))
			out.Done = append(out.Done, arrived)
			if start, cut := dag.Start(ops, i); cut {
				p.addOwn(&out, start)
			}
			if p.ends[id] != p.arrival[id] {
				p.addOwn(&out, i, arrived)
			}
			if takesCPU(op) {
				out.Done = append(out.Done, ir.Signal(int(p.ends[id])))
			}
		case op.Kind == dag.Send:
			put := ir.PutTo(ir.Signal(int(p.arrival[p.mates[id]])), op.Peer)
			waits := dag.Before(ops, i)
			if last := len(out.Rules) - 1; last >= 0 && out.Rules[last].Do[0].To != toOwn && slices.Equal(sends, waits) {
				out.Rules[last].Do = append(out.Rules[last].Do, put)
				continue
			}
			sends = waits
			out.Rules = append(out.Rules, ir.Rule{When: p.when(rank, i), Do: []ir.Action{put}})
		case takesCPU(op):
			out.Done = append(out.Done, ir.Signal(int(p.ends[id])))
			p.addOwn(&out, i)
		default:
			p.addOwn(&out, i)
		}
	}
	return out
}

// addOwn adds the rule for what operation i of a rank does at that rank, unless it has no signal.
// The rule may wait for more slots than the operation does.
func (p *graph) addOwn(out *ir.Program, i int, more ...ir.Slot) {
	if end := p.ends[p.index.Of(out.Rank, i)]; end != unheard {
		do := []ir.Action{{Op: ir.Put, Slot: ir.Signal(int(end)), To: toOwn}}
		out.Rules = append(out.Rules, ir.Rule{When: append(p.when(out.Rank, i), more...), Do: do})
	}
}

// when returns the slots that are set when everything that operation i of a rank waits for has
// ended.
func (p *graph) when(rank, i int) []ir.Slot {
	ops := p.g.Ranks[rank]
	slots := []ir.Slot{ir.Enter}
	for _, a := range dag.Before(ops, i) {
		slots = append(slots, ir.Signal(int(p.ends[p.index.Of(rank, int(endOf(ops, a)))])))
	}
	return slots
}
