package core

import (
	"cmp"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Some operations a rank can go through at once, if nothing else goes on there: those of short blocks all of which it lays for
// the ranks that it puts them to, and collects from their lines, and passes nothing on but what it has folded; and a barrier all whose signals
// are flags.
// It has then to write its lines and
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
	cells []byte // partial results
	given []byte // the caller's contribution, if it is copied since the result is written over it
}

// Step waits for a line, or for none, and then writes some and folds.
type Step struct {
	Rank  int // in whose window the line is; -1: there is none
	Line  int // of a signal; of a chunk its place among the posts of its writer, see ChunkLine
	Chunk bool
	slot  ir.Slot // what stands there
	where where   // a chunk goes
	acts  []act
}

// act writes one line, or folds if made is not None.
type act struct {
	slot ir.Slot
	to   []int // who looks there
	own  bool  // it is in this rank's window
	line int   // of a chunk, as Step.Line
	from where // a chunk is read

	made ir.Slot
	into where
	of   []where // the operands
}

// quickChunks returns the steps of an operation that moves blocks, nil if it is to begin. First the rank lays what it puts, and
// then it collects what is put to it. Blocks are whole chunks, and lie in the caller's memory.
func (p *Plan) quickChunks() (steps []Step) {
	g := &p.lines
	if p.folds {
		return p.quickFolds()
	}
	if p.places.per != 1 || len(p.places.relayed) > 0 || p.recovers || p.multicasts || p.program.Keeps() || len(g.posts)+len(g.chunks) == 0 {
		return nil
	}
	var e machine.Machine
	e.Reset(p.program)
	do, _ := e.Set(ir.Enter)
	step := Step{Rank: -1, Chunk: true}
	for len(do) > 0 {
		at := g.place(do)
		if at < 0 {
			return nil
		}
		step.acts = append(step.acts, act{slot: do[0].Slot, to: g.posts[at].near, own: true, line: at, from: p.places.where(do[0].Slot.Index())})
		do = do[len(g.posts[at].near):]
	}
	if len(step.acts) != len(g.posts) {
		return nil // it passes something on
	}
	if len(step.acts) > 0 {
		steps = append(steps, step)
	}
	for _, at := range g.chunks {
		if do, _ := e.Set(at.slot); len(do) > 0 || p.places.wanted.Index(at.slot.Index()) < 0 {
			return nil // it passes the chunk on, by frame if no post has it
		}
		steps = append(steps, Step{Rank: at.Rank, Line: at.Line, Chunk: true, slot: at.slot, where: p.places.where(at.slot.Index())})
	}
	if !e.Done() {
		return nil // something is put to it by frame
	}
	return steps
}

// quickFolds returns the steps of an operation that folds, nil if it is to begin. The rank waits for partial results in the order of their
// numbers, in which its rounds are, and for chunks last. Blocks are whole chunks.
func (p *Plan) quickFolds() (steps []Step) {
	g := &p.lines
	if p.places.per != 1 || len(p.places.relayed) > 0 || p.recovers || p.multicasts || p.program.Keeps() || len(g.posts)+len(g.chunks) == 0 {
		return nil
	}
	var e machine.Machine
	e.Reset(p.program)
	acts, ok := p.actsOn(&e, ir.Enter)
	steps = append(steps, Step{Rank: -1, Chunk: true, acts: acts})
	awaited := slices.Clone(g.chunks)
	slices.SortFunc(awaited, func(a, b Awaited) int {
		if a.slot.Kind() != b.slot.Kind() {
			return cmp.Compare(b.slot, a.slot) // partial results before chunks
		}
		return cmp.Compare(a.slot, b.slot)
	})
	for _, at := range awaited {
		acts, fits := p.actsOn(&e, at.slot)
		ok = ok && fits
		steps = append(steps, Step{Rank: at.Rank, Line: at.Line, Chunk: true, slot: at.slot, where: p.whereIs(at.slot), acts: acts})
	}
	if !ok || !e.Done() {
		return nil // something goes by frame
	}
	return steps
}

// actsOn returns what a rank does when a slot is set, with all that follows from its folds; ok is false if something goes by frame.
func (p *Plan) actsOn(e *machine.Machine, s ir.Slot) (acts []act, ok bool) {
	for set := []ir.Slot{s}; len(set) > 0; set = set[1:] {
		do, _ := e.Set(set[0])
		for do = slices.Clone(do); len(do) > 0; {
			a := do[0]
			if a.Op == ir.Fold {
				f := act{made: a.As, into: p.whereIs(a.As)}
				for _, x := range ir.MessageOf(do) {
					f.of = append(f.of, p.whereIs(x.Slot))
				}
				acts, set, do = append(acts, f), append(set, a.As), do[len(f.of):]
				continue
			}
			at := p.lines.place(do)
			if at < 0 {
				return nil, false
			}
			post := &p.lines.posts[at]
			acts = append(acts, act{slot: a.Slot, to: post.near, own: true, line: at, from: p.whereIs(a.Slot)})
			do = do[len(post.near):]
		}
	}
	return acts, true
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
	steps := []Step{{Rank: -1, acts: writes}}
	order := make([]int, own.Signals) // by signal, where it is awaited
	for i, at := range p.lines.awaited[0] {
		order[at.slot.Index()] = i
	}
	for s, i := range order {
		do, _ := e.Set(ir.Signal(s))
		more, reached := p.writes(do, reaches)
		ok = ok && reached && p.lines.awaited[0][i].slot == ir.Signal(s)
		steps = append(steps, Step{acts: more})
	}
	if !ok || !e.Done() {
		return turns
	}
	for turn := range turns {
		turns[turn] = append([]Step(nil), steps...)
		for s, i := range order {
			at := &p.lines.awaited[turn][i]
			turns[turn][1+s].Rank, turns[turn][1+s].Line, turns[turn][1+s].slot = at.Rank, at.Line, at.slot
		}
	}
	return turns
}

// writes returns the lines that actions write, and whether all of them are flags.
func (p *Plan) writes(do []ir.Action, reaches func(rank int) bool) (list []act, ok bool) {
	for len(do) > 0 {
		a := do[0]
		post := p.lines.post(do)
		switch {
		case a.Op != ir.Put || !isFlag(a.Slot) || post != nil && len(post.far) > 0 || post == nil && !reaches(int(a.To)):
			return nil, false
		case post != nil:
			list, do = append(list, act{slot: a.Slot, to: post.near, own: true}), do[len(post.ranks):]
		default:
			list, do = append(list, act{slot: a.Slot, to: []int{int(a.To)}}), do[1:]
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
func (q *Quick) ChunkLine(s *Step) int { return chunkLine(q.turn, s.Line) }

// Own copies the blocks that the rank holds and wants to where it wants them. It comes before all steps. Until Undo or Through mem may have
// another In.
func (q *Quick) Own(p *Plan, mem *Buffers) {
	p.places.copyOwn(mem)
	if q.given = nil; !p.folds {
		return
	}
	partial := len(p.cells.parts) * mem.Block
	if !mem.isInPlace() {
		q.cells = grown(q.cells, partial)
		return
	}
	q.cells = grown(q.cells, partial+len(mem.In))
	copy(q.cells[partial:], mem.In)
	q.given, mem.In = mem.In, q.cells[partial:]
}

// Undo has mem be as it was before Own: the operation is to begin after all.
func (q *Quick) Undo(mem *Buffers) {
	if q.given != nil {
		copy(q.given, mem.In)
		mem.In = q.given
	}
}

// Into returns where the chunk goes that a step waits for.
func (q *Quick) Into(s *Step, mem *Buffers) []byte { return s.where.of(mem, q.cells) }

// Note writes down what the operation is, for others to see. It is for before the rank waits: afterwards it would cost time.
func (c *Core) Note(p *Plan, q *Quick) {
	if !q.noted && p.Chunks > 0 {
		q.noted = true
		c.ops.flags.shelf.net.Note(q.Flag.Seq, uint32(q.Flag.Mark>>32))
	}
}

// Write writes the lines of a step and folds, and reports whether it has: if not the operation is to Begin.
func (c *Core) Write(q *Quick, s *Step, mem *Buffers) bool {
	net := c.ops.flags.shelf.net
	for i := range s.acts {
		switch w := &s.acts[i]; {
		case w.made != ir.None:
			q.fold(w, mem)
		case s.Chunk:
			if _, ok := net.Lay(chunkLine(q.turn, w.line), w.to, q.Flag, w.from.of(mem, q.cells), mem.Block); !ok {
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

func (q *Quick) fold(w *act, mem *Buffers) {
	if mem.Block == 0 {
		return
	}
	into, first := w.into.of(mem, q.cells), w.of[0].of(mem, q.cells)
	if len(w.of) == 1 {
		copy(into, first)
		return
	}
	mem.Fold.Kernel(into, first, w.of[1].of(mem, q.cells))
	for _, x := range w.of[2:] {
		mem.Fold.Kernel(into, into, x.of(mem, q.cells))
	}
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
		f.shelf.used += uint64(p.lines.shelved)
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
	for i := range q.Steps {
		s := &q.Steps[i]
		if s.Rank >= 0 {
			o.machine.Set(s.slot)
			if s.slot.Kind() == ir.KindChunk {
				o.lost.byPut++
			}
		}
		for k := range s.acts {
			if made := s.acts[k].made; made != ir.None {
				o.machine.Set(made)
			}
		}
	}
	o.state, o.quick, o.gone = opReturned, true, true
}
