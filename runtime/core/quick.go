package core

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Some operations a rank can go through at once, if nothing else goes on there: a short broadcast whose one chunk its root lays for all
// that it puts it to, or that only collects it; and a barrier all whose signals are flags. It has then to write its lines and
// to look at others, in an order that is known when the schedule is compiled. Begin, the machine and End come to the same, and
// take three times as long: TestQuickIsAsOthers holds the states of both against each other.
//
// A rank that has waited long enough for a line begins the operation after all, and writes again what it has written: the same, to lines
// that nobody else writes before this rank has ended the operation (see flags.go).

// Quick is an operation that a rank may go through at once.
type Quick struct {
	Flag  wire.Flag // what stands in its lines; From is this rank, and another one in lines that it looks at
	Steps []Step    // one after the other
	root  int
	turn  uint64 // as op.turn
	noted bool
}

// Step waits for a line, or for none, and writes some then.
type Step struct {
	Rank   int // in whose window the line is; -1: there is none
	Line   int // of a signal; of a chunk see ChunkLine
	Chunk  bool
	writes []write
}

// write is of one line.
type write struct {
	slot ir.Slot
	to   []int // who looks there
	own  bool  // it is in this rank's window
}

// quickChunk returns the steps of a broadcast, nil if it is to begin. own is this rank's program.
func (p *Plan) quickChunk(rank int, own *ir.Program) []Step {
	g := &p.lines
	switch {
	case p.Chunks != 1 || p.recovers || p.multicasts || p.program.Keeps() || len(g.posts)+len(g.chunks) != 1:
		return nil
	case len(g.chunks) == 1 && rank != p.header.Root && actions(own) == 0:
		return []Step{{Rank: g.chunks[0].Rank, Chunk: true}}
	case len(g.posts) == 1 && rank == p.header.Root && actions(own) == len(g.posts[0].near):
		return []Step{{Rank: -1, Chunk: true, writes: []write{{slot: ir.Chunk(0), to: g.posts[0].near, own: true}}}}
	}
	return nil
}

// actions returns how many there are in a program.
func actions(p *ir.Program) (n int) {
	for i := range p.Rules {
		n += len(p.Rules[i].Do)
	}
	return n
}

// quickFlags returns the steps of a barrier in each turn, nil if it is to begin: it takes its signals in the order of their numbers.
func (p *Plan) quickFlags(reaches func(rank int) bool) (turns [flagTurns][]Step) {
	own := p.program.Outline()
	if own.Signals != len(p.lines.awaited[0]) || p.recovers || p.program.Keeps() {
		return turns
	}
	var e machine.Machine
	e.Reset(p.program)
	do, _ := e.Set(ir.Enter)
	writes, ok := p.writes(do, reaches)
	steps := []Step{{Rank: -1, writes: writes}}
	order := make([]int, own.Signals) // by signal, where it is awaited
	for i, at := range p.lines.awaited[0] {
		order[at.slot.Index()] = i
	}
	for s, i := range order {
		do, _ := e.Set(ir.Signal(s))
		more, reached := p.writes(do, reaches)
		ok = ok && reached && p.lines.awaited[0][i].slot == ir.Signal(s)
		steps = append(steps, Step{writes: more})
	}
	if !ok || !e.Done() {
		return turns
	}
	for turn := range turns {
		turns[turn] = append([]Step(nil), steps...)
		for s, i := range order {
			at := &p.lines.awaited[turn][i]
			turns[turn][1+s].Rank, turns[turn][1+s].Line = at.Rank, at.Line
		}
	}
	return turns
}

// writes returns the lines that actions write, and whether all of them are flags.
func (p *Plan) writes(do []ir.Action, reaches func(rank int) bool) (list []write, ok bool) {
	for len(do) > 0 {
		a := do[0]
		post := p.lines.post(do)
		switch {
		case a.Op != ir.Put || !isFlag(a.Slot) || post != nil && len(post.far) > 0 || post == nil && !reaches(int(a.To)):
			return nil, false
		case post != nil:
			list, do = append(list, write{a.Slot, post.near, true}), do[len(post.ranks):]
		default:
			list, do = append(list, write{slot: a.Slot, to: []int{int(a.To)}}), do[1:]
		}
	}
	return list, true
}

// Quick returns the next operation, of n bytes under p, until the next call; nil if it is to Begin: it is none that a rank goes
// through at once, or something else goes on.
func (c *Core) Quick(p *Plan, n int) *Quick {
	ops, f := &c.ops, &c.ops.flags
	if !p.isQuick() || n > wire.CopiedTo || ops.complete != ops.seq || !ops.alone() {
		return nil
	}
	q := &c.quick
	q.noted = false
	q.Flag = wire.Flag{Seq: ops.seq + 1, Mark: mark(ops.next(p, n), ops.Epoch), From: ops.Rank}
	if q.turn, q.root = f.shelf.used+1, p.header.Root; p.Chunks == 0 {
		q.turn, q.root = f.begun+1, 0
	}
	q.Steps = p.lines.steps[q.turn%flagTurns]
	return q
}

// isQuick reports whether there are operations that the rank may go through at once.
func (p *Plan) isQuick() bool { return p.lines.steps[0] != nil }

// alone reports whether nothing goes on beside operations, and nothing has come for the next one.
func (ops *operations) alone() bool {
	next := (ops.seq + 1) % Remembered
	return ops.fate.err == nil && !ops.fate.dispute.open && ops.Trace == nil && ops.flags.shelf.net != nil && len(ops.members.absent) == 0 &&
		len(ops.overlap.calls) == 0 && ops.absent.own == 0 && ops.ring[next].unsent == 0 && len(ops.earlies[next].list) == 0
}

// ChunkLine returns the line of a step that waits for a chunk.
func (q *Quick) ChunkLine() int { return wire.ChunkLine + int((q.turn-1)%wire.ChunkLines) }

// Note writes down what the operation is, for others to see. It is for before the rank waits: afterwards it would cost time.
func (c *Core) Note(p *Plan, q *Quick) {
	if !q.noted && p.Chunks > 0 {
		q.noted = true
		c.ops.flags.shelf.net.Note(q.Flag.Seq, uint32(q.Flag.Mark>>32))
	}
}

// Write writes the lines of a step, of which buf is the chunk, and reports whether it has: if not the operation is to Begin.
func (c *Core) Write(q *Quick, s *Step, buf []byte) bool {
	net := c.ops.flags.shelf.net
	for i := range s.writes {
		switch w := &s.writes[i]; {
		case s.Chunk:
			if _, ok := net.Lay(q.ChunkLine(), w.to, q.Flag, buf, len(buf)); !ok {
				return false
			}
		case w.own:
			net.Post(wire.FlagLines+line(q.turn, w.slot), w.to, q.Flag)
		default:
			net.Flag(w.to[0], line(q.turn, w.slot), q.Flag)
		}
	}
	return true
}

// Through ends the next operation, all of whose steps have been made.
func (c *Core) Through(p *Plan, q *Quick, n int) {
	ops, f := &c.ops, &c.ops.flags
	ops.seq++
	ops.complete, ops.fate.seq, ops.print = ops.seq, ops.seq, uint32(q.Flag.Mark>>32)
	o := &ops.ring[ops.seq%Remembered]
	if !o.quick || o.plan != p {
		ops.leaveQuick(o, p, q)
	}
	o.seq, o.n, o.key, o.print, o.turn = ops.seq, n, n, ops.print, q.turn
	ops.history.note(o)
	c.Note(p, q)
	t := &ops.totals
	t.Operations++
	if p.Chunks == 0 {
		f.begun++
		f.awaits.Over, f.last = f.last, ops.seq
	} else {
		f.shelf.used++
		t.PutChunks += uint64(o.lost.byPut)
		t.LastMcastChunks, t.LastPutChunks = 0, o.lost.byPut
	}
	ops.unshelve()
	if s := &q.Steps[len(q.Steps)-1]; s.Rank >= 0 {
		c.watch.hear(s.Rank)
	}
}

// leaveQuick leaves o as operations are left that a rank has gone through at once.
func (ops *operations) leaveQuick(o *op, p *Plan, q *Quick) {
	o.begin(ops.seq, ops.print, p, Buffers{})
	ops.rec.open(o)
	o.machine.Set(ir.Enter)
	if p.Chunks > 0 && q.root != ops.Rank {
		o.machine.Set(ir.Chunk(0))
		o.lost.byPut = 1
	}
	for s := range len(q.Steps) - 1 {
		o.machine.Set(ir.Signal(s))
	}
	o.state, o.quick, o.gone = opReturned, true, true
}
