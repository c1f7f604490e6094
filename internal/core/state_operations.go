package core

import (
	"github.com/schedgen/schedgen/internal/core/flow"
	"github.com/schedgen/schedgen/internal/core/lines"
	"github.com/schedgen/schedgen/ir"
)

// The state of operations.

func (s *state) operations(ops *operations) {
	s.U64(ops.seq)
	s.U64(ops.complete)
	s.Flags(ops.delay > 0)
	for i := range ops.earlies {
		s.early(&ops.earlies[i], ops.seq)
	}
	s.Num(len(ops.overlap.calls))
	for _, c := range ops.overlap.calls {
		s.U64(c.seq)
		s.Num(int(c.print))
		s.Num(c.from)
	}
	s.B = ops.absent.AppendState(s.B, ops.complete)
	s.Flags(ops.refuses(), ops.refusal.asked)
	s.U64(ops.refusal.seq)
	s.Text(ops.refusal.words)
	s.Num(0)
	for _, seq := range ops.joined {
		s.U64(future(seq, ops.seq))
	}
	s.B = ops.loss.AppendState(s.B)
	s.B = ops.peers.AppendState(s.B, ops.seq, ops.Size)
	if ops.ledger.net != nil {
		s.B = ops.ledger.AppendState(s.B)
	}
	for i := range ops.ring {
		s.op(ops, &ops.ring[i])
	}
}

// early leaves out signals of an operation that has begun.
func (s *state) early(e *earlies, begun uint64) {
	if future(e.seq, begun) == 0 {
		s.Num(0)
		return
	}
	s.Num(len(e.list))
	s.U64(e.seq)
	for _, e := range e.list {
		s.Num(int(e.slot))
		s.Num(int(e.print))
		s.Num(e.from)
	}
}

// future returns seq if operation seq has not begun, else 0: an operation takes its early frames
// when it begins.
func future(seq, begun uint64) uint64 {
	if seq <= begun {
		return 0
	}
	return seq
}

func (s *state) op(ops *operations, o *op) {
	if s.B = append(s.B, byte(o.state)); o.state == opFree {
		return
	}
	s.U64(o.seq)
	s.Flags(o.plan.places.blocks == 0, o.n > 0 && !o.gone)
	s.Num(o.root)
	s.Num(int(o.print))
	s.Text(o.plan.Name)
	s.Num(o.chunks)
	m := &o.memory
	s.Bytes(m.areas[areaOut].bytes)
	if !m.inPlace() {
		s.Bytes(m.areas[areaIn].bytes)
	}
	s.Bytes(m.areas[areaRelay].bytes)
	s.B = o.outbox.AppendState(s.B)
	if s.Num(o.folds.done); o.folds.done > 0 {
		s.Bytes(o.bytesOf(o.outbox.All(flow.ByWork)[0].As)[:o.folds.done])
	}
	for v := range o.plan.places.cells.of {
		if o.state == opActive && o.machine.Has(ir.Value(v)) {
			s.Bytes(o.bytesOf(ir.Value(v)))
		}
	}
	s.Num(o.unsent)
	s.B = o.machine.AppendState(s.B)
	s.B = o.lost.AppendState(s.B, o.state == opActive)
	s.B = o.window.AppendState(s.B)
	s.B = o.yields.AppendState(s.B)
	s.Flags(o.gate.met)
	if o.state != opActive {
		return // the rest concerns running operations
	}
	s.Flags(o.gate.closed, o.gate.wait > 0, o.gate.until != 0, o.gate.behind)
	if s.U64(o.turn % lines.Turns); o.chunks > 0 {
		s.U64(o.turn)
	}
	s.Num(o.gate.peer)
	s.Set(o.entries.asked)
	s.Set(o.entries.known)
}
