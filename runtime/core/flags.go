package core

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Among ranks that have windows the signals of barriers are flags (chunks of broadcasts: see
// shelf.go): each has a line, which its receiver looks at, and whoever drives the core tells what stands there. A signal that
// one rule puts to several ranks stands once, in the window of its sender, and all of them
// look there (Bierbaum, Wassen, Lankes, Bemmerl: SCI Collectives, section 4.1), if they can
// read it.
//
// Lines are used in turns: a barrier's are those of the barrier before the last. Nobody
// writes there too soon. Barriers begin one after the other at every rank, also if several
// operations are open: a rank that has begun one has ended the one before. So who has begun
// barrier b has ended b-1, before which all have begun b-1 (verify's check barrier), before
// which they have ended b-2, and by then seen all that they wait for in it. And who has
// ended a barrier has put all of it (check retire), so that no writer comes late. Nor does a
// flag that takes time to its line: for every signal a rule waits (check wellformed), and a
// rank's rules have all fired before it ends (check retire again). The bound is that of
// check reuse, two operations, with barriers counted by themselves.

const (
	flagTurns = 2
	flagSlots = wire.FlagLines / flagTurns // signals of a barrier that have lines; those above them are put
)

// FlagNet is a way out by which flags go too; see [wire.Windows].
type FlagNet interface {
	Net
	Reaches(rank int) bool
	Flag(to, line int, f wire.Flag)
	Post(line int, to []int, f wire.Flag)
	// Waits reports whether flags go when the transport is polled, as frames do: Sent tells of
	// them too.
	Waits() bool
}

// flags are those of a rank's operations.
type flags struct {
	net    FlagNet // nil: there are none
	waits  bool    // they go when the transport is polled
	begun  uint64  // barriers
	last   uint64  // the operation that is the last barrier whose rules have begun
	inside uint64  // the barrier whose rules have begun and that has not ended; 0: none
	awaits Awaits
	shelf  shelf
}

// Awaits are the flags that a rank waits for.
type Awaits struct {
	Flags []Awaited // those that have not been seen
	Over  uint64    // lines of signals in which a number up to this one stands may be written now
}

// Awaited is a flag and where it will stand.
type Awaited struct {
	Rank int // whose window
	Line int
	Seq  uint64 // what stands there then
	mark uint64 // and if all have called the same
	slot ir.Slot
}

// enterBarrier gives a barrier its turn. Its rules do not begin before the barrier before it
// has ended.
func (ops *operations) enterBarrier(o *op) {
	f := &ops.flags
	f.begun++
	o.turn = f.begun
	if o.gate.behind = f.inside != 0; !o.gate.behind {
		f.enter(o, ops.Epoch)
	}
}

// enter has the flags of a barrier looked at, whose rules begin.
func (f *flags) enter(o *op, epoch uint32) {
	f.awaits.Over, f.last, f.inside = f.last, o.seq, o.seq
	f.awaits.add(o, o.plan.lines.awaited[o.turn%flagTurns], mark(o.print, epoch))
}

// IsChunk reports whether a chunk, or a partial result, stands there too.
func (at *Awaited) IsChunk() bool { return at.slot.Kind() != ir.KindSignal }

// add has flags of o looked at.
func (a *Awaits) add(o *op, flags []Awaited, mark uint64) {
	for _, at := range flags {
		at.Seq, at.mark = o.seq, mark
		a.Flags = append(a.Flags, at)
	}
}

// remove has no flag of an operation looked at any more.
func (a *Awaits) remove(seq uint64) {
	if len(a.Flags) > 0 {
		a.Flags = slices.DeleteFunc(a.Flags, func(at Awaited) bool { return at.Seq == seq })
	}
}

// leaveBarrier lets the rules of the barrier behind o begin.
func (ops *operations) leaveBarrier(o *op) {
	f := &ops.flags
	if f.inside != o.seq {
		return
	}
	f.inside = 0
	for seq := o.seq + 1; seq <= ops.seq; seq++ {
		if next := ops.open(seq); next != nil && next.gate.behind {
			next.gate.behind = false
			f.enter(next, ops.Epoch)
			ops.set(next, ir.Enter)
			return
		}
	}
}

// raise puts the signal of the first of actions by flag, and returns how many of them are
// done by that.
func (ops *operations) raise(o *op, actions []ir.Action) (n int) {
	s := actions[0].Slot
	f := wire.Flag{Seq: o.seq, Mark: mark(o.print, ops.Epoch), From: ops.Rank}
	if p := o.plan.lines.post(actions); p != nil {
		for _, to := range p.near {
			ops.trace(EventPut, o.seq, s, to)
		}
		ops.flags.net.Post(wire.FlagLines+line(o.turn, s), p.near, f)
		for _, to := range p.far {
			ops.putSlot(o, s, to)
		}
		return len(p.ranks)
	}
	to := int(actions[0].To)
	if !ops.flags.net.Reaches(to) {
		ops.putSlot(o, s, to)
		return 1
	}
	ops.trace(EventPut, o.seq, s, to)
	ops.flags.net.Flag(to, line(o.turn, s), f)
	ops.queued = ops.queued || ops.flags.waits
	return 1
}

// Awaits returns the flags that this rank waits for. It changes with every step of the core.
func (c *Core) Awaits() *Awaits { return &c.ops.flags.awaits }

// Flagged takes f, which stands in line i of Awaits with the number that is awaited there. A
// chunk that stands there too must be in its Buffer.
func (c *Core) Flagged(i int, f wire.Flag) {
	a := &c.ops.flags.awaits
	at, last := a.Flags[i], len(a.Flags)-1
	a.Flags[i] = a.Flags[last]
	a.Flags = a.Flags[:last]
	if c.fate.err != nil {
		return
	}
	c.watch.hear(f.From)
	o := c.ops.open(at.Seq)
	if f.Mark != at.mark {
		c.ops.strayed(o, f)
		return
	}
	c.ops.traceNew(EventArrived, o, at.slot, f.From)
	if at.slot.Kind() == ir.KindChunk {
		o.lost.byPut++
	}
	c.ops.set(o, at.slot)
}

// Stray takes a flag that stands in any line of the own window, beyond Awaits.Over, and fails
// if it is of another call than this rank has made, or of another membership. It is for when
// nothing moves.
func (c *Core) Stray(f wire.Flag) {
	o := c.ops.lookup(f.Seq)
	if o != nil && c.fate.err == nil && f.Mark != mark(o.print, c.env.Epoch) {
		c.ops.strayed(o, f)
	}
}

// strayed fails the core because of a flag of something else than o.
func (ops *operations) strayed(o *op, f wire.Flag) {
	if f.From < 0 || f.From >= ops.Size || f.From == ops.Rank {
		ops.fate.refused(fmt.Errorf("%w: a flag of operation %d that rank %d is said to have written", ErrProtocol, f.Seq, f.From))
		return
	}
	h := wire.Header{Seq: f.Seq, Print: uint32(f.Mark >> 32), Epoch: uint32(f.Mark), From: f.From}
	if h.Epoch != ops.Epoch {
		ops.fate.strange(&h)
		return
	}
	ops.disagree(o.seq, h.From, h.Print)
}

// mark is what a flag says of its operation.
func mark(fingerprint, epoch uint32) uint64 { return uint64(fingerprint)<<32 | uint64(epoch) }
