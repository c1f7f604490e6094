package core

import (
	"github.com/schedgen/schedgen/ir"
	"slices"
)

// The state of operations, and of their recovery.

func (s *state) operations(ops *operations) {
	s.u64(ops.seq)
	s.u64(ops.complete)
	s.flags(ops.delay > 0)
	for i := range ops.earlies {
		s.early(&ops.earlies[i], ops.seq)
	}
	s.num(len(ops.overlap.calls))
	for _, c := range ops.overlap.calls {
		s.u64(c.seq)
		s.num(int(c.print))
		s.num(c.from)
	}
	s.u64(ops.absent.own)
	if future(ops.absent.seq, ops.complete) > 0 {
		s.u64(ops.absent.seq)
		for _, rank := range ops.absent.ranks {
			s.num(rank + 1)
		}
	}
	if s.flags(ops.refuses(), ops.refusal.asked); ops.refuses() {
		s.u64(ops.refusal.seq)
		s.text(ops.refusal.words)
	}
	s.num(0)
	for _, seq := range ops.joined {
		s.u64(future(seq, ops.seq))
	}
	s.recovery(ops.rec)
	s.raised(&ops.flags)
	for i := range ops.ring {
		s.op(ops, &ops.ring[i])
	}
}

// raised appends the flags that are awaited. Most follow from the turn and the set slots; this adds
// the flags that are awaited in vain.
func (s *state) raised(f *flags) {
	if f.net == nil {
		return
	}
	s.u64(f.begun % flagTurns)
	s.u64(f.inside)
	s.num(len(f.awaits.Flags))
	s.u64(f.shelf.used)
	s.u64(f.shelf.passed)
	s.num(len(f.shelf.lent))
}

// early leaves out signals of an operation that has begun.
func (s *state) early(e *earlies, begun uint64) {
	if future(e.seq, begun) == 0 {
		s.num(0)
		return
	}
	s.num(len(e.list))
	s.u64(e.seq)
	for _, e := range e.list {
		s.num(int(e.slot))
		s.num(int(e.print))
		s.num(e.from)
	}
}

// future returns seq if operation seq has not begun, else 0: what came early for an operation has
// been taken in when it began.
func future(seq, begun uint64) uint64 {
	if seq <= begun {
		return 0
	}
	return seq
}

func (s *state) recovery(rc *recovery) {
	s.u64(future(rc.lossy, rc.ops.seq-1))
	for rank := range rc.Size {
		s.flags(rc.silent[rank])
		for seq := rc.ops.seq + 1; rc.reports[rank] != nil && seq <= rc.ops.seq+Remembered; seq++ {
			s.report(rc.reports.of(rank, seq), rc.ops.seq)
		}
		s.num(0)
	}
	for _, r := range [...]*askRing{&rc.asks.datagrams, &rc.asks.puts} {
		for i := range r.list {
			s.num(r.list[i].unsent)
		}
		s.num(r.next)
	}
}

func (s *state) report(r report, begun uint64) {
	if future(r.seq, begun) == 0 {
		return
	}
	s.u64(r.seq)
	s.num(int(r.print))
	s.num(r.chunk)
	s.num(r.have)
}

func (s *state) op(ops *operations, o *op) {
	if s.b = append(s.b, byte(o.state)); o.state == opFree {
		return
	}
	s.u64(o.seq)
	s.flags(o.plan.places.blocks == 0, o.n > 0 && !o.gone, o.lost.heard)
	s.num(o.root)
	s.num(int(o.print))
	s.text(o.plan.Name)
	s.num(o.chunks)
	s.bytes(o.mem.Out)
	if !o.mem.isInPlace() {
		s.bytes(o.mem.In)
	}
	s.bytes(o.relayed)
	s.num(len(o.folds.later))
	s.num(o.folds.done)
	for v := range o.plan.cells.of {
		if o.state == opActive && o.machine.Has(ir.Value(v)) {
			s.bytes(o.bytesOf(ir.Value(v)))
		}
	}
	s.num(o.unsent)
	s.b = o.machine.AppendState(s.b)
	s.debts(o.lost.debts)
	s.served(o.lost.served)
	s.window(&o.lost.window)
	s.yields(&o.lost.yields)
	if o.state != opActive {
		return // the rest concerns running operations
	}
	s.flags(o.gate.closed, o.gate.wait > 0, o.gate.until != 0, o.gate.behind)
	if s.u64(o.turn % flagTurns); o.chunks > 0 {
		s.u64(o.turn)
	}
	s.num(o.gate.peer)
	s.waits(&o.waits)
	s.frags(&o.frags)
	s.repairs(&o.lost.repairs)
	s.gaps(&o.lost.gaps)
	s.num(o.lost.byMcast + o.lost.byPut)
	s.num(o.lost.cries)
}

func (s *state) waits(w *waits) {
	s.num(len(w.list))
	for _, a := range w.list {
		s.num(int(a.Slot))
		s.num(int(a.To))
	}
	s.set(w.asked)
	s.set(w.entered)
}

func (s *state) frags(f *fragments) {
	s.flags(f.laidOut())
	if f.laidOut() {
		s.words(f.got)
	}
}

func (s *state) repairs(rs *repairs) {
	s.num(rs.armed)
	for i := range rs.list {
		if r := &rs.list[i]; r.armed {
			s.num(int(r.rule))
			s.flags(r.fresh, r.spared, r.behind)
			s.num(r.rounds)
		}
	}
}

func (s *state) gaps(g *gaps) {
	s.flags(g.armed, g.fresh, g.first != 0)
	s.num(g.top)
	s.num(g.lost)
	s.num(g.reach)
	s.num(g.tries)
	p := &g.pass
	s.flags(p.open, p.again != 0, p.came, p.due)
	for _, n := range [...]int{p.from, p.to, p.turn, p.asked, p.mark, p.tries, p.pending, p.recent} {
		s.num(n)
	}
}

// debts leaves out settled debts.
func (s *state) debts(debts []debt) {
	for i := range debts {
		if d := &debts[i]; anyOf(d.chunks) || anyOf(d.parts) {
			s.num(d.rank + 1)
			s.set(d.chunks)
			s.set(d.late)
			s.set(d.parts)
		}
	}
	s.num(0)
}

func (s *state) served(served []service) {
	for i := range served {
		s.num(served[i].rank + 1)
		s.set(served[i].chunks)
	}
	s.num(0)
}

func anyOf(words []uint64) bool {
	return slices.ContainsFunc(words, func(w uint64) bool { return w != 0 })
}

// set appends a set of bits. An empty set may have any number of words.
func (s *state) set(words []uint64) {
	if !anyOf(words) {
		words = nil
	}
	s.words(words)
}

func (s *state) window(w *window) {
	s.flags(w.on, w.behind)
	s.num(len(w.postponed) - w.first)
	for _, slot := range w.postponed[w.first:] {
		s.num(int(slot))
	}
	if !w.on {
		return
	}
	s.num(w.own)
	s.num(w.progress)
	for _, c := range w.children {
		s.num(c.chunk)
		s.flags(c.given)
	}
}

func (s *state) yields(y *yields) {
	if s.flags(y.on); !y.on {
		return
	}
	s.num(y.have)
	s.num(y.heard)
	s.flags(y.whole)
	for i := range y.heirs {
		h := &y.heirs[i]
		s.num(h.have)
		s.flags(h.given)
		s.set(h.chunks)
	}
}
