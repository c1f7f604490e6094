package core

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Among ranks with windows, signals of barriers are flags (for chunks of broadcasts see shelf.go).
// Each signal has a line. The driver of the receiving core looks at the line and tells the core its
// content. If one rule puts a signal to several ranks, the flag stands once, in the sender's
// window, and all of them look there if they can read it (Bierbaum, Wassen, Lankes, Bemmerl: SCI
// Collectives, section 4.1).
//
// Lines are used in turns: a barrier uses the lines of the barrier before the last. This is safe,
// because no rank writes too early. Every rank runs its barriers one after the other, even with
// several operations open: a rank that has begun barrier b has ended b-1. All ranks had begun b-1
// before that (verify's check barrier), so all had ended b-2, and had seen all its flags that they
// wait for. A rank that has ended a barrier has put all its signals (check retire), so it writes no
// flag late. A flag on its way to a line is no problem either: every signal has a rule that waits
// for it (check wellformed), and all rules of a rank fire before it ends (check retire). The bound
// is that of check reuse, two operations, counting barriers alone.

const (
	flagTurns = 2
	flagSlots = wire.FlagLines / flagTurns // signals of a barrier with lines; signals with greater numbers are put
)

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

// flags are the flags of a rank's operations.
type flags struct {
	net    FlagNet // nil: no windows
	waits  bool    // flags are sent when the transport is polled
	begun  uint64  // number of barriers begun
	last   uint64  // operation number of the last barrier whose rules have begun
	inside uint64  // operation number of the barrier whose rules have begun and that has not ended; 0: none
	awaits Awaits
	shelf  shelf
}

// Awaits holds the flags that a rank waits for.
type Awaits struct {
	Flags []Awaited // flags that have not arrived
	Over  uint64    // flag lines last used by an operation up to this number may be overwritten
}

// Awaited is a flag and the line where it will arrive.
type Awaited struct {
	Rank int // rank whose window has the line
	Line int
	Seq  uint64 // operation number of the flag
	mark uint64 // mark of the flag if all ranks have called the same
	slot ir.Slot
}

// enterBarrier gives a barrier its turn. Its rules begin only after the previous barrier has ended.
func (ops *operations) enterBarrier(o *op) {
	f := &ops.flags
	f.begun++
	o.turn = f.begun
	if o.gate.behind = f.inside != 0; !o.gate.behind {
		f.enter(o, ops.Epoch)
	}
}

// enter awaits the flags of a barrier whose rules begin.
func (f *flags) enter(o *op, epoch uint32) {
	f.awaits.Over, f.last, f.inside = f.last, o.seq, o.seq
	f.awaits.add(o, o.plan.lines.awaited[o.turn%flagTurns], mark(o.print, epoch))
}

// IsChunk reports whether a chunk or a partial result comes with the flag.
func (at *Awaited) IsChunk() bool { return at.slot.Kind() != ir.KindSignal }

// add awaits flags of o.
func (a *Awaits) add(o *op, flags []Awaited, mark uint64) {
	for _, at := range flags {
		at.Seq, at.mark = o.seq, mark
		a.Flags = append(a.Flags, at)
	}
}

// remove stops awaiting the flags of an operation.
func (a *Awaits) remove(seq uint64) {
	if len(a.Flags) > 0 {
		a.Flags = slices.DeleteFunc(a.Flags, func(at Awaited) bool { return at.Seq == seq })
	}
}

// leaveBarrier lets the rules of the next barrier after o begin.
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

// raise sends the signal of the first of actions as a flag, and returns how many of actions that
// covers.
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

// Flagged takes flag f of line i of Awaits, which has the awaited number. If the line also has a
// chunk, the chunk must already be in its Buffer.
func (c *Core) Flagged(i int, f wire.Flag) {
	a := &c.ops.flags.awaits
	at, last := a.Flags[i], len(a.Flags)-1
	a.Flags[i] = a.Flags[last]
	a.Flags = a.Flags[:last]
	if c.fate.err != nil {
		return
	}
	c.watch.Hear(f.From)
	o := c.ops.open(at.Seq)
	if f.Mark != at.mark {
		c.ops.strayed(o, f)
		return
	}
	c.ops.traceNew(EventArrived, o, at.slot, f.From)
	if at.slot.Kind() == ir.KindChunk {
		o.lost.ByPut++
	}
	c.ops.set(o, at.slot)
}

// Stray takes a flag from any line of the own window, beyond Awaits.Over. It fails the communicator
// if the flag is of another call than this rank's, or of another membership. Call it when nothing
// moves.
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
