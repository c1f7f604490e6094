package core

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/core/lines"
	"github.com/schedgen/schedgen/internal/ir/windows"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Among ranks with windows, signals of barriers are flags, and chunks of other collectives stand in
// lines. Package lines says where, and when a line may be written again. Here flags and chunks are
// sent, and taken: the driver of the receiving core looks at the lines and tells the core their
// content.
//
// A short chunk is copied into the window. A long chunk is lent: it stays in the sender's buffer
// until all have collected it, so it is copied once, not twice.

// FlagNet is a Net that also sends flags; see [wire.Windows].
type FlagNet interface {
	Net
	Reaches(rank int) bool
	Flag(to, line int, f wire.Flag)
	Post(line int, to []int, f wire.Flag)
	// Waits reports whether flags are sent when the transport is polled, like frames; Sent then
	// reports flags too.
	Waits() bool
}

// ShelfNet is a Net whose windows also hold chunks; see [wire.Shelves]. Note shows other ranks the
// fingerprint of an operation that this rank has called: if two ranks call different operations,
// neither may look at a line of the other.
type ShelfNet interface {
	FlagNet
	Lay(line int, to []int, f wire.Flag, body []byte, whole int) (lent, ok bool)
	Revoke(line int)
	Passed(seq uint64)
	Note(seq uint64, fingerprint uint32)
}

// Awaits holds the flags that a rank waits for.
type Awaits = lines.Awaits

// Awaited is a flag and the line where it will arrive.
type Awaited = lines.Awaited

// Lent is a chunk of this rank that others collect from its buffer.
type Lent = lines.Lent

// ledger is the windows that a rank sends by, and the lines that it uses now.
type ledger struct {
	net   FlagNet  `state:"ignored"` // nil: no windows
	shelf ShelfNet `state:"ignored"` // nil: chunks do not go through windows
	waits bool     // flags are sent when the transport is polled
	lines.Ledger
}

// connect sets the net of l.
func (l *ledger) connect(net Net) {
	l.net, _ = net.(FlagNet)
	l.waits = l.net != nil && l.net.Waits()
	l.shelf, _ = net.(ShelfNet)
}

// Flags makes the signals of a barrier's plan flags where possible, between ranks that reach each
// other; other signals go by frame. If together is set, ranks can read each other's windows, and a
// signal for several ranks stands once in the sender's own window. Either all ranks call Flags,
// with the places of one schedule, or no rank does.
func (p *Plan) Flags(rank int, reaches func(rank int) bool, together bool, places *windows.Places) {
	p.lines = lines.Barrier(rank, reaches, together, places)
	p.steps = p.quickFlags(reaches)
}

// Shelve moves the chunks and partial results of p into windows, among ranks that reach each other,
// if every rank gets each of them at most once and nothing else is sent: see [lines.Chunks].
// programs are the programs of the schedule. Either all ranks call Shelve, or no rank does.
func (p *Plan) Shelve(rank int, reaches func(rank int) bool, programs func(rank int) ir.Program) {
	layout, ok := lines.Chunks(&p.header, p.places.folds, rank, reaches, programs)
	if !ok {
		return
	}
	p.lines = layout
	steps := p.quickChunks()
	p.steps = [lines.Turns][]Step{steps, steps}
}

// openLines gives o, which begins, its lines.
func (ops *operations) openLines(o *op) {
	switch l := &ops.ledger; {
	case !o.plan.lines.Known || l.net == nil:
	case o.plan.Chunks == 0:
		if o.turn, o.gate.behind = l.BeginBarrier(); !o.gate.behind {
			l.Enter(o.seq, o.turn, mark(o.print, ops.Epoch), &o.plan.lines)
		}
	case l.shelf != nil:
		o.turn = l.BeginChunks(o.seq, mark(o.print, ops.Epoch), &o.plan.lines)
	}
}

// endLines ends the use of lines by o. The rules of the next barrier may begin then.
func (ops *operations) endLines(o *op) {
	ops.ledger.End(o.seq)
	if ops.ledger.Leave(o.seq) {
		ops.enterNext(o)
	}
	ops.tellPassed()
}

// enterNext begins the rules of the barrier after o that waits for the end of o, if there is one.
func (ops *operations) enterNext(o *op) {
	for seq := o.seq + 1; seq <= ops.seq; seq++ {
		if next := ops.open(seq); next != nil && next.gate.behind {
			next.gate.behind = false
			ops.ledger.Enter(next.seq, next.turn, mark(next.print, ops.Epoch), &next.plan.lines)
			ops.set(next, ir.Enter)
			return
		}
	}
}

// tellPassed tells the others up to which operation all have ended here, now and then.
func (ops *operations) tellPassed() {
	if ops.ledger.ShouldTell() {
		ops.ledger.shelf.Passed(ops.complete)
	}
}

// note shows the fingerprint of o to the other ranks, if its chunks go through windows. A rank that
// waits for a signal needs no note, since the signal carries the fingerprint.
func (ops *operations) note(o *op) {
	if l := &ops.ledger; l.shelf != nil && o.plan.lines.Known && o.chunks > 0 {
		l.shelf.Note(o.seq, o.print)
	}
}

// raise sends the signal of the first action as a flag, and returns how many of actions the flag
// covers.
func (ops *operations) raise(o *op, actions []ir.Action) (n int) {
	s := actions[0].Slot
	f := wire.Flag{Seq: o.seq, Mark: mark(o.print, ops.Epoch), From: ops.Rank}
	if p := o.plan.lines.Post(actions); p != nil {
		for _, to := range p.Near {
			ops.trace(EventPut, o.seq, s, to)
		}
		ops.ledger.net.Post(wire.FlagLines+lines.OfSignal(o.turn, s), p.Near, f)
		for _, to := range p.Far {
			ops.putSlot(o, s, to)
		}
		return len(p.Ranks)
	}
	to := int(actions[0].To)
	if !ops.ledger.net.Reaches(to) {
		ops.putSlot(o, s, to)
		return 1
	}
	ops.trace(EventPut, o.seq, s, to)
	ops.ledger.net.Flag(to, lines.OfSignal(o.turn, s), f)
	ops.queued = ops.queued || ops.ledger.waits
	return 1
}

// lay stores the chunk of the first action in this rank's window, and reports whether it has. It
// sets *done to the number of actions that the chunk covers.
func (ops *operations) lay(o *op, actions []ir.Action, done *int) bool {
	s := actions[0].Slot
	place := o.plan.lines.Place(actions)
	if place < 0 || s.Kind() == ir.KindSignal || o.state != opActive {
		return false
	}
	p := &o.plan.lines.Posts[place]
	line, f := lines.OfChunk(o.turn, place), wire.Flag{Seq: o.seq, Mark: mark(o.print, ops.Epoch), From: ops.Rank}
	lent, ok := ops.ledger.shelf.Lay(line, p.Near, f, o.bytesOf(s), o.n)
	if !ok {
		return false
	}
	if lent {
		o.unsent++
		ops.ledger.Lend(line, o.seq)
	}
	for i, to := range p.Near {
		ops.trace(EventPut, o.seq, p.Sets[i], to)
	}
	*done = len(p.Ranks)
	return true
}

// Awaits returns the flags that this rank waits for. It changes with every step of the core.
func (c *Core) Awaits() *Awaits { return c.ops.ledger.Awaits() }

// Buffer returns the destination of the chunk that arrives with f in entry i of Awaits. ok is false
// if the entry has no chunk, or if f is not the awaited flag.
func (c *Core) Buffer(i int, f wire.Flag) (dst []byte, ok bool) {
	at := &c.ops.ledger.Awaits().Flags[i]
	if !at.IsChunk() || f.Mark != at.Mark || c.fate.err != nil {
		return nil, false
	}
	return c.ops.open(at.Seq).bytesOf(at.Slot), true
}

// Flagged takes flag f, which has the awaited number, for entry i of Awaits. If a chunk comes with
// the flag, the chunk must already be in its Buffer.
func (c *Core) Flagged(i int, f wire.Flag) {
	at := c.ops.ledger.Take(i)
	if c.fate.err != nil {
		return
	}
	c.watch.Hear(f.From)
	o := c.ops.open(at.Seq)
	if f.Mark != at.Mark {
		c.ops.strayed(o, f)
		return
	}
	c.ops.traceNew(EventArrived, o, at.Slot, f.From)
	if at.Slot.Kind() == ir.KindChunk {
		o.lost.ByPut++
	}
	c.ops.set(o, at.Slot)
}

// Stray takes a flag from any line of the own window, beyond Awaits.Over. It fails the communicator
// if the flag's writer has made another call, or has another membership. Call it when nothing
// moves.
func (c *Core) Stray(f wire.Flag) {
	o := c.ops.lookup(f.Seq)
	if o != nil && c.fate.err == nil && f.Mark != mark(o.print, c.env.Epoch) {
		c.ops.strayed(o, f)
	}
}

// strayed fails the core because f has the number of o, but not its mark.
func (ops *operations) strayed(o *op, f wire.Flag) {
	if f.From < 0 || f.From >= ops.Size || f.From == ops.Rank {
		ops.fate.refused(fmt.Errorf("%w: a flag of operation %d names rank %d as its writer", ErrProtocol, f.Seq, f.From))
		return
	}
	h := wire.Header{Seq: f.Seq, Print: uint32(f.Mark >> 32), Epoch: uint32(f.Mark), From: f.From}
	if h.Epoch != ops.Epoch {
		ops.fate.strange(&h)
		return
	}
	ops.disagree(o.seq, h.From, h.Print)
}

// mark returns the number by which a flag identifies its operation.
func mark(fingerprint, epoch uint32) uint64 { return uint64(fingerprint)<<32 | uint64(epoch) }

// Lent returns the chunks that others still have to collect. It changes with every step of the
// core.
func (c *Core) Lent() []Lent { return c.ops.ledger.Lent() }

// Collected says that all receivers have collected chunk i of Lent.
func (c *Core) Collected(i int) {
	c.ops.open(c.ops.ledger.Collected(i)).unsent--
	c.ops.resume()
}

// abandonLines forgets the awaited flags, and revokes all lent chunks of this rank.
func (ops *operations) abandonLines() {
	for _, l := range ops.ledger.Abandon() {
		ops.ledger.shelf.Revoke(l.Line)
		if o := ops.open(l.Seq); o != nil {
			o.unsent--
		}
	}
}

// Called returns the fingerprint of an operation that has begun here. ok is false if it has not, or
// is forgotten.
func (c *Core) Called(seq uint64) (fingerprint uint32, ok bool) {
	return c.ops.history.Past(seq)
}

// Noted takes another rank's note about operation seq. It fails the core if this rank has called
// something else, then or before.
func (c *Core) Noted(rank int, seq uint64, theirs uint32) {
	if mine, ok := c.Called(seq); ok && mine != theirs && c.fate.err == nil {
		c.ops.disagree(seq, rank, theirs)
	}
}
