package core

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Among ranks that have windows the signals of barriers are flags: each has a place, which
// its receiver looks at, and whoever drives the core tells what stands there. A signal that
// one rule puts to several ranks stands once, in the window of its sender, and all of them
// look there (Bierbaum, Wassen, Lankes, Bemmerl: SCI Collectives, section 4.1).
//
// Places are used in turns: a barrier's are those of the barrier before the last. Nobody
// writes there too soon. Barriers begin one after the other at every rank, also if several
// operations are open: a rank that has begun one has ended the one before. So who has begun
// barrier b has ended b-1, before which all have begun b-1 (verify's check barrier), before
// which they have ended b-2, and by then seen all that they wait for in it. And who has
// ended a barrier has put all of it (check retire), so that no writer comes late. The bound
// is that of check reuse, two operations, with barriers counted by themselves.

const (
	flagTurns  = 2
	flagPlaces = wire.FlagLines / flagTurns // signals of a barrier that have places; those above them are put
)

// FlagNet is a way out by which flags go too; see [wire.Windows].
type FlagNet interface {
	Net
	Reaches(rank int) bool
	Flag(to, line int, f wire.Flag)
	Post(line int, to []int, f wire.Flag)
}

// flags are those of the barriers of a rank.
type flags struct {
	net    FlagNet // nil: there are none
	begun  uint64  // barriers
	last   uint64  // the operation that is the last barrier whose rules have begun
	awaits Awaits  // of the barrier whose rules have begun and that has not ended; its number is 0 if there is none
}

// Awaits are the flags that a barrier waits for.
type Awaits struct {
	Seq    uint64  // what stands in their places then
	Mark   uint64  // and if all have called the same
	Places []Place // those that have not been seen
	Over   uint64  // places in which a number up to this one stands may be written now
}

// Place is where a signal stands.
type Place struct {
	Rank int // whose window
	Line int
	slot ir.Slot
}

// signs are the places of a barrier's signals at one rank.
type signs struct {
	known  bool
	posts  []post             // what this rank puts that stands in its own window
	places [flagTurns][]Place // by turn, of those that this rank waits for
}

// post is a signal that one rule puts to several ranks.
type post struct {
	slot  ir.Slot
	ranks []int
}

// line returns where signal s stands in a turn.
func line(turn uint64, s ir.Slot) int { return int(turn%flagTurns)*flagPlaces + s.Index() }

// isFlag reports whether a signal has a place.
func isFlag(s ir.Slot) bool { return s.Kind() == ir.KindSignal && s.Index() < flagPlaces }

// Flags has the signals of a barrier's plan go by flag, of those ranks that reach each
// other. programs are those of the header's schedule. If together is set, signals that a
// rank puts to several stand in its window: programs must tell its rules apart. All ranks must
// call Flags, with the same, or none. It changes nothing for a plan with repairs, which may
// come late, or with chunks.
func (p *Plan) Flags(rank int, reaches func(rank int) bool, programs func(rank int) ir.Program, together bool) {
	if p.Chunks > 0 {
		return
	}
	own := programs(rank)
	from := slices.Repeat([]int{rank}, min(own.Signals, flagPlaces))
	for other := range p.header.Ranks {
		if other != rank && !reaches(other) {
			continue
		}
		theirs := programs(other)
		if mends(&theirs) {
			return
		}
		if !together || other == rank {
			continue
		}
		for _, post := range posted(&theirs, func(r int) bool { return r == rank || r != other && reaches(r) }) {
			if slices.Contains(post.ranks, rank) && post.slot.Index() < len(from) {
				from[post.slot.Index()] = other
			}
		}
	}
	if together {
		p.signs.posts = posted(&own, reaches)
	}
	p.signs.lay(rank, from)
}

func mends(p *ir.Program) bool {
	return slices.ContainsFunc(p.Rules, func(r ir.Rule) bool { return r.IsRepair() })
}

// posted returns what p puts at once to two ranks or more, which all must reach each other. A
// signal of which there are several such puts has one place only, and is left out; so is one
// that is put to one of the ranks by itself too.
func posted(p *ir.Program, reaches func(rank int) bool) (posts []post) {
	for _, r := range p.Rules {
		for run := r.Do; len(run) > 0; {
			n := 1
			for n < len(run) && run[n].Slot == run[0].Slot {
				n++
			}
			if isFlag(run[0].Slot) {
				posts = append(posts, post{run[0].Slot, ranksOf(run[:n])})
			}
			run = run[n:]
		}
	}
	return slices.DeleteFunc(slices.Clone(posts), func(a post) bool {
		far := func(r int) bool { return !reaches(r) }
		other := func(b post) bool {
			both := func(r int) bool { return slices.Contains(a.ranks, r) }
			return b.slot == a.slot && &b.ranks[0] != &a.ranks[0] && (len(b.ranks) > 1 || slices.ContainsFunc(b.ranks, both))
		}
		return len(a.ranks) == 1 || slices.ContainsFunc(a.ranks, far) || slices.ContainsFunc(posts, other)
	})
}

func ranksOf(puts []ir.Action) (ranks []int) {
	for _, a := range puts {
		ranks = append(ranks, int(a.To))
	}
	return ranks
}

// post returns what the first of actions begins to put, and nil if that stands elsewhere. A rule's
// actions come one behind the other.
func (g *signs) post(actions []ir.Action) []int {
	for i := range g.posts {
		if p := &g.posts[i]; p.slot == actions[0].Slot && slices.Contains(p.ranks, int(actions[0].To)) {
			return p.ranks
		}
	}
	return nil
}

// lay gives the signals places, in the windows of from, by signal.
func (g *signs) lay(rank int, from []int) {
	g.known = true
	for turn := range g.places {
		for k, of := range from {
			at := line(uint64(turn), ir.Signal(k))
			if of != rank {
				at += wire.FlagLines
			}
			g.places[turn] = append(g.places[turn], Place{Rank: of, Line: at, slot: ir.Signal(k)})
		}
	}
}

// enterBarrier gives a barrier its turn. Its rules do not begin before the barrier before it
// has ended.
func (ops *operations) enterBarrier(o *op) {
	f := &ops.flags
	f.begun++
	o.turn = f.begun
	if o.gate.behind = f.awaits.Seq != 0; !o.gate.behind {
		f.await(o, ops.Epoch)
	}
}

// await has the flags of o looked at.
func (f *flags) await(o *op, epoch uint32) {
	a := &f.awaits
	a.Over, f.last = f.last, o.seq
	a.Seq, a.Mark = o.seq, mark(o.print, epoch)
	a.Places = append(a.Places[:0], o.plan.signs.places[o.turn%flagTurns]...)
}

// leaveBarrier lets the rules of the barrier behind o begin.
func (ops *operations) leaveBarrier(o *op) {
	a := &ops.flags.awaits
	if a.Seq != o.seq {
		return
	}
	a.Seq, a.Places = 0, a.Places[:0]
	for seq := o.seq + 1; seq <= ops.seq; seq++ {
		if next := ops.open(seq); next != nil && next.gate.behind {
			next.gate.behind = false
			ops.flags.await(next, ops.Epoch)
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
	if ranks := o.plan.signs.post(actions); ranks != nil {
		for _, to := range ranks {
			ops.trace(EventPut, o.seq, s, to)
		}
		ops.flags.net.Post(wire.FlagLines+line(o.turn, s), ranks, f)
		return len(ranks)
	}
	to := int(actions[0].To)
	if !ops.flags.net.Reaches(to) {
		ops.putSlot(o, s, to)
		return 1
	}
	ops.trace(EventPut, o.seq, s, to)
	ops.flags.net.Flag(to, line(o.turn, s), f)
	return 1
}

// Awaits returns the flags that the running barrier waits for. It changes with every step of
// the core.
func (c *Core) Awaits() *Awaits { return &c.ops.flags.awaits }

// Flagged takes f, which stands in place i of Awaits with the number that is awaited there.
func (c *Core) Flagged(i int, f wire.Flag) {
	a := &c.ops.flags.awaits
	slot, last := a.Places[i].slot, len(a.Places)-1
	a.Places[i] = a.Places[last]
	a.Places = a.Places[:last]
	if c.fate.err != nil {
		return
	}
	c.watch.hear(f.From)
	o := c.ops.open(a.Seq)
	if f.Mark != a.Mark {
		c.ops.strayed(o, f)
		return
	}
	c.ops.traceNew(EventArrived, o, slot, f.From)
	c.ops.set(o, slot)
}

// Stray takes a flag that stands in any place of the own window, beyond Awaits.Over, and fails if it is of another
// call than this rank has made, or of another membership. It is for when nothing moves.
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
	ops.disagree(o, h.From, h.Print)
}

// mark is what a flag says of its operation.
func mark(fingerprint, epoch uint32) uint64 { return uint64(fingerprint)<<32 | uint64(epoch) }
