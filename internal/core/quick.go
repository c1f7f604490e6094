package core

import (
	"cmp"
	"slices"

	"github.com/schedgen/schedgen/internal/core/lines"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/runtime/wire"
)

// If nothing else goes on at a rank, it can run some operations at once: barriers whose signals are
// all flags, and operations with short blocks. The rank lays these blocks for their receivers and
// collects them from lines; it passes on only folded blocks. The rank then writes its lines and
// looks at others, in an order that is known when the schedule is compiled. Begin, the machine and
// End have the same effect, but take three times as long: TestQuickIsAsOthers compares the states
// of both.
//
// A rank that has waited long enough for a line begins the operation after all, and repeats its
// writes: the same content, to lines that no other rank writes before this rank has ended the
// operation (see package lines).

// Quick is an operation that a rank may run at once.
type Quick struct {
	Flag   wire.Flag // the flag in its lines; From is this rank, or another rank for lines that it reads
	Steps  []Step    // in order
	root   int
	turn   uint64 // as op.turn
	noted  bool
	mem    memory
	cells  []byte // memory for partial results
	given  []byte // the caller's contribution, if it is copied because the result overwrites it
	fold   *Fold
	broken error // the panic of the kernel; the core then fails
}

// Step waits for at most one line, and then writes lines and folds.
type Step struct {
	Rank  int // rank whose window has the line; -1: the step waits for no line
	Line  int // line of a signal; for a chunk, the index among the posts of its writer, see ChunkLine
	Chunk bool
	slot  ir.Slot // the slot in the line
	into  place   // destination of a chunk
	acts  []act
}

// Writes reports whether the step writes lines or folds.
func (s *Step) Writes() bool { return len(s.acts) > 0 }

// act writes one line, or folds if made is not None.
type act struct {
	slot ir.Slot
	to   []int // readers of the line
	own  bool  // the line is in this rank's window
	line int   // for a chunk, as Step.Line
	from place // source of a chunk

	made ir.Slot
	into place
	of   []place // operands
}

// quickChunks returns the steps of an operation that moves blocks, or nil if it must Begin. The
// rank first lays its chunks, and then collects the chunks for it. Blocks are whole chunks, and lie
// in the caller's memory.
func (p *Plan) quickChunks() (steps []Step) {
	g := &p.lines
	if p.places.folds {
		return p.quickFolds()
	}
	if p.places.per != 1 || len(p.places.relayed) > 0 || p.recovers || p.multicasts || p.program.Keeps() || len(g.Posts)+len(g.Chunks) == 0 {
		return nil
	}
	var e machine.Machine
	e.Reset(p.program)
	do, _ := e.Set(ir.Enter)
	step := Step{Rank: -1, Chunk: true}
	for len(do) > 0 {
		at := g.Place(do)
		if at < 0 {
			return nil
		}
		step.acts = append(step.acts, act{slot: do[0].Slot, to: g.Posts[at].Near, own: true, line: at, from: p.places.of(do[0].Slot)})
		do = do[len(g.Posts[at].Near):]
	}
	if len(step.acts) != len(g.Posts) {
		return nil // the rank relays something
	}
	if len(step.acts) > 0 {
		steps = append(steps, step)
	}
	for _, at := range g.Chunks {
		if do, _ := e.Set(at.Slot); len(do) > 0 || p.places.wanted.Index(at.Slot.Index()) < 0 {
			return nil // the rank relays the chunk, perhaps by frame
		}
		steps = append(steps, Step{Rank: at.Rank, Line: at.Line, Chunk: true, slot: at.Slot, into: p.places.of(at.Slot)})
	}
	if !e.Done() {
		return nil // the rank receives something by frame
	}
	return steps
}

// quickFolds returns the steps of an operation that folds, or nil if it must Begin. The rank waits
// for partial results in the order of their numbers, which is the order of its rounds, and for
// chunks last. Blocks are whole chunks.
func (p *Plan) quickFolds() (steps []Step) {
	g := &p.lines
	if p.places.per != 1 || len(p.places.relayed) > 0 || p.recovers || p.multicasts || p.program.Keeps() || len(g.Posts)+len(g.Chunks) == 0 {
		return nil
	}
	var e machine.Machine
	e.Reset(p.program)
	acts, ok := p.actsOn(&e, ir.Enter)
	steps = append(steps, Step{Rank: -1, Chunk: true, acts: acts})
	awaited := slices.Clone(g.Chunks)
	slices.SortStableFunc(awaited, func(a, b Awaited) int {
		if a.Slot.Kind() != b.Slot.Kind() {
			return cmp.Compare(b.Slot, a.Slot) // partial results before chunks
		}
		return cmp.Compare(a.Slot, b.Slot)
	})
	for _, at := range awaited {
		acts, fits := p.actsOn(&e, at.Slot)
		into := p.places.of(at.Slot)
		ok = ok && fits && into.area != areaRelay
		steps = append(steps, Step{Rank: at.Rank, Line: at.Line, Chunk: true, slot: at.Slot, into: into, acts: acts})
	}
	if !ok || !e.Done() {
		return nil // something goes by frame
	}
	return steps
}

// actsOn returns a rank's acts when a slot is set, including the consequences of its folds; ok is
// false if something goes by frame.
func (p *Plan) actsOn(e *machine.Machine, s ir.Slot) (acts []act, ok bool) {
	for set := []ir.Slot{s}; len(set) > 0; set = set[1:] {
		do, _ := e.Set(set[0])
		for do = slices.Clone(do); len(do) > 0; {
			a := do[0]
			if a.Op == ir.Fold {
				f := act{made: a.As, into: p.places.of(a.As)}
				for _, x := range ir.MessageOf(do) {
					f.of = append(f.of, p.places.of(x.Slot))
				}
				acts, set, do = append(acts, f), append(set, a.As), do[len(f.of):]
				continue
			}
			at := p.lines.Place(do)
			if at < 0 {
				return nil, false
			}
			post := &p.lines.Posts[at]
			acts = append(acts, act{slot: a.Slot, to: post.Near, own: true, line: at, from: p.places.of(a.Slot)})
			do = do[len(post.Near):]
		}
	}
	return acts, true
}

// quickFlags returns the steps of a barrier in each turn, or nil if it must Begin. The rank waits
// for signals in the order of their numbers.
func (p *Plan) quickFlags(reaches func(rank int) bool) (turns [lines.Turns][]Step) {
	own := p.program.Outline()
	if own.Signals != len(p.lines.Flags[0]) || p.recovers || p.program.Keeps() {
		return turns
	}
	var e machine.Machine
	e.Reset(p.program)
	do, _ := e.Set(ir.Enter)
	writes, ok := p.writes(do, reaches)
	steps := []Step{{Rank: -1, acts: writes}}
	order := make([]int, own.Signals) // by signal, its index in awaited
	for i, at := range p.lines.Flags[0] {
		order[at.Slot.Index()] = i
	}
	for s, i := range order {
		do, _ := e.Set(ir.Signal(s))
		more, reached := p.writes(do, reaches)
		ok = ok && reached && p.lines.Flags[0][i].Slot == ir.Signal(s)
		steps = append(steps, Step{acts: more})
	}
	if !ok || !e.Done() {
		return turns
	}
	for turn := range turns {
		turns[turn] = append([]Step(nil), steps...)
		for s, i := range order {
			at := &p.lines.Flags[turn][i]
			turns[turn][1+s].Rank, turns[turn][1+s].Line, turns[turn][1+s].slot = at.Rank, at.Line, at.Slot
		}
	}
	return turns
}

// writes returns the lines that actions write; ok is false if not all of them are flags.
func (p *Plan) writes(do []ir.Action, reaches func(rank int) bool) (list []act, ok bool) {
	for len(do) > 0 {
		a := do[0]
		post := p.lines.Post(do)
		switch {
		case a.Op != ir.Put || !lines.IsFlag(a.Slot) || post != nil && len(post.Far) > 0 || post == nil && !reaches(int(a.To)):
			return nil, false
		case post != nil:
			list, do = append(list, act{slot: a.Slot, to: post.Near, own: true}), do[len(post.Ranks):]
		default:
			list, do = append(list, act{slot: a.Slot, to: []int{int(a.To)}}), do[1:]
		}
	}
	return list, true
}

// Quick returns the fast path for the next operation, of n bytes under p, or nil if Begin must be
// used. The result is valid until the next call.
func (c *Core) Quick(p *Plan, n int) *Quick {
	ops := &c.ops
	if !p.isQuick() || n > wire.CopiedTo || ops.complete != ops.seq || !ops.alone() {
		return nil
	}
	q := &c.quick
	barrier := p.Chunks == 0
	q.noted = barrier // its flags carry the fingerprint
	q.Flag.Seq, q.Flag.Mark, q.Flag.From = ops.seq+1, mark(ops.next(p, n), ops.Epoch), ops.Rank
	if q.turn, q.root = ops.ledger.NextTurn(barrier), 0; !barrier {
		q.root = p.header.Root
	}
	q.Steps = p.steps[q.turn%lines.Turns]
	return q
}

// isQuick reports whether the plan has a fast path.
func (p *Plan) isQuick() bool { return p.steps[0] != nil }

// alone reports whether nothing goes on besides operations, and nothing has arrived for the next
// one.
func (ops *operations) alone() bool {
	next := (ops.seq + 1) % Remembered
	return ops.fate.err == nil && !ops.fate.dispute.IsOpen() && ops.Trace == nil && ops.ledger.shelf != nil && len(ops.members.All()) == 0 &&
		len(ops.overlap.calls) == 0 && ops.absent.Said() == 0 && ops.ring[next].unsent == 0 && len(ops.earlies[next].list) == 0
}

// ChunkLine returns the line of a step that waits for a chunk.
func (q *Quick) ChunkLine(s *Step) int { return lines.OfChunk(q.turn, s.Line) }

// Own takes the caller's memory, and copies the blocks that the rank both holds and wants to their
// places in the output. Call it before the steps.
func (q *Quick) Own(p *Plan, mem *Buffers) {
	if q.given = nil; p.Chunks == 0 {
		return
	}
	q.fold = mem.Fold
	q.mem.set(&p.places, mem)
	q.mem.copyOwn(&p.places)
	if !p.places.folds {
		return
	}
	apart := q.mem.inPlace()
	q.mem.openCells(&p.places.cells, q.cells, apart)
	if q.cells = q.mem.areas[areaCells].bytes; apart {
		q.given = mem.In
	}
}

// Broken returns the panic of the kernel, or nil. The caller then fails the core, whose next
// operation has not begun.
func (q *Quick) Broken() error { return q.broken }

// Undo restores the caller's contribution, for an operation that must Begin after all.
func (q *Quick) Undo() { copy(q.given, q.mem.areas[areaIn].bytes) }

// Into returns the destination of the chunk that a step waits for.
func (q *Quick) Into(s *Step) []byte { return q.mem.block(s.into) }

// Note shows the operation's fingerprint to other ranks. Call it before the rank waits: after the
// wait, it would delay the rank.
func (c *Core) Note(q *Quick) {
	if !q.noted {
		q.noted = true
		c.ops.ledger.shelf.Note(q.Flag.Seq, uint32(q.Flag.Mark>>32))
	}
}

// Write writes the lines of a step and folds. It returns false if the operation must Begin, or if
// the kernel has panicked: see Broken.
func (c *Core) Write(q *Quick, s *Step) bool {
	net := c.ops.ledger.shelf
	for i := range s.acts {
		switch w := &s.acts[i]; {
		case w.made != ir.None:
			if q.broken = q.make(w); q.broken != nil {
				return false
			}
		case s.Chunk:
			if _, ok := net.Lay(lines.OfChunk(q.turn, w.line), w.to, q.Flag, q.mem.block(w.from), q.mem.n); !ok {
				return false
			}
		case w.own:
			net.Post(wire.FlagLines+lines.OfSignal(q.turn, w.slot), w.to, q.Flag)
		default:
			net.Flag(w.to[0], lines.OfSignal(q.turn, w.slot), q.Flag)
		}
	}
	return true
}

// make folds, and returns an error if the kernel panics.
func (q *Quick) make(w *act) error {
	into, left := q.mem.block(w.into), q.mem.block(w.of[0])
	switch {
	case len(into) == 0:
		return nil
	case len(w.of) == 1:
		copy(into, left)
		return nil
	}
	for _, x := range w.of[1:] {
		if err := q.fold.apply(into, left, q.mem.block(x)); err != nil {
			return err
		}
		left = into
	}
	return nil
}

// Through ends the next operation, all of whose steps have been made.
func (c *Core) Through(p *Plan, q *Quick, n int) {
	ops := &c.ops
	ops.seq++
	ops.loss.Begin(ops.seq)
	ops.complete, ops.fate.seq, ops.print = ops.seq, ops.seq, uint32(q.Flag.Mark>>32)
	o := &ops.ring[ops.seq%Remembered]
	if !o.quick || o.plan != p {
		ops.leaveQuick(o, p, q)
	}
	o.seq, o.n, o.key, o.print, o.turn = ops.seq, n, n, ops.print, q.turn
	ops.history.Note(o.seq, o.print, o.plan.print(o.key), o.plan, o.key)
	c.Note(q)
	t := &ops.totals
	t.Operations++
	ops.ledger.Through(ops.seq, p.Chunks == 0, &p.lines)
	if p.Chunks > 0 {
		t.PutChunks += uint64(o.lost.ByPut)
		t.LastMcastChunks, t.LastPutChunks = 0, o.lost.ByPut
	}
	ops.tellPassed()
	if s := &q.Steps[len(q.Steps)-1]; s.Rank >= 0 {
		c.watch.Hear(s.Rank)
	}
}

// leaveQuick leaves o in the state of an operation that has taken the fast path.
func (ops *operations) leaveQuick(o *op, p *Plan, q *Quick) {
	o.begin(ops.seq, ops.print, p, Buffers{})
	ops.openFlow(o)
	ops.openLosses(o)
	o.machine.Set(ir.Enter)
	for i := range q.Steps {
		s := &q.Steps[i]
		if s.Rank >= 0 {
			o.machine.Set(s.slot)
			if s.slot.Kind() == ir.KindChunk {
				o.lost.ByPut++
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
