package core

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// A chunk that a rank puts to ranks that see its window stands there once, in a line, and all of
// them collect it (Bierbaum, Wassen, Lankes, Bemmerl: SCI Collectives, section 4.1). A short chunk
// is copied into the window. A long chunk is lent: it stays in the sender's buffer until all have
// collected it, so it is copied once, not twice.
//
// Operations that move chunks have no bound of reuse: the root of a broadcast may be any number of
// operations ahead (verify's check reuse). So a rank says up to which operation it has ended all,
// and a line is written again only when all have ended the operation of its content. A chunk
// without a line is put. A receiver accepts a chunk either way.
//
// All ranks that reach each other count the lines of operations alike, since all make the same
// calls: each operation takes as many lines as the rank that lays most. A rank lays its chunks in
// the order of its rules, and leaves other lines out.

// maxShelved is the greatest number of lines of an operation: two consecutive operations share no
// lines.
const maxShelved = wire.ChunkLines / 2

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

// shelf holds the lines of a rank with chunks.
type shelf struct { // nil: chunks do not go through windows
	net    ShelfNet // nil: there are none
	used   uint64   // lines of all operations with chunks in windows that have begun
	passed uint64   // value of used when the others were last told what has ended here
	lent   []Lent
}

// Lent is a chunk of this rank that others collect from its buffer.
type Lent struct {
	Line int
	seq  uint64
}

// connect sets the net of f.
func (f *flags) connect(net Net) {
	f.net, _ = net.(FlagNet)
	f.waits = f.net != nil && f.net.Waits()
	f.shelf.net, _ = net.(ShelfNet)
}

// shelve awaits the chunks of o that come through windows.
func (ops *operations) shelve(o *op) {
	f := &ops.flags
	if f.shelf.net == nil {
		return
	}
	o.turn = f.shelf.used + 1
	f.shelf.used += uint64(o.plan.lines.shelved)
	for _, at := range o.plan.lines.chunks {
		at.Line = chunkLine(o.turn, at.Line)
		at.Seq, at.mark = o.seq, mark(o.print, ops.Epoch)
		f.awaits.Flags = append(f.awaits.Flags, at)
	}
}

// note shows the fingerprint of o to the other ranks, if its chunks go through windows. A rank that
// waits for a signal needs no note, since the signal carries the fingerprint.
func (ops *operations) note(o *op) {
	if v := &ops.flags.shelf; v.net != nil && o.plan.lines.known && o.chunks > 0 {
		v.net.Note(o.seq, o.print)
	}
}

// chunkLine returns the line of a chunk, given the turn of its operation and the index of its post
// at the writer.
func chunkLine(turn uint64, place int) int {
	return wire.ChunkLine + int((turn-1+uint64(place))%wire.ChunkLines)
}

// lay stores the chunk of the first of actions in this rank's window, and reports whether it has.
// done is how many of actions that covers.
func (ops *operations) lay(o *op, actions []ir.Action, done *int) bool {
	s := actions[0].Slot
	place := o.plan.lines.place(actions)
	if place < 0 || s.Kind() == ir.KindSignal || o.state != opActive {
		return false
	}
	p := &o.plan.lines.posts[place]
	line, f := chunkLine(o.turn, place), wire.Flag{Seq: o.seq, Mark: mark(o.print, ops.Epoch), From: ops.Rank}
	lent, ok := ops.flags.shelf.net.Lay(line, p.near, f, o.bytesOf(s), o.n)
	if !ok {
		return false
	}
	if lent {
		o.unsent++
		ops.flags.shelf.lent = append(ops.flags.shelf.lent, Lent{line, o.seq})
	}
	for i, to := range p.near {
		ops.trace(EventPut, o.seq, p.sets[i], to)
	}
	*done = len(p.ranks)
	return true
}

// unshelve tells the others what has ended here, whenever a quarter of the lines have been used
// since the last time.
func (ops *operations) unshelve() {
	if v := &ops.flags.shelf; v.used-v.passed >= wire.ChunkLines/4 {
		v.passed = v.used
		v.net.Passed(ops.complete)
	}
}

// Buffer returns the destination of the chunk that arrives with f in entry i of Awaits. ok is false
// if the entry has no chunk, or if f is not the awaited flag.
func (c *Core) Buffer(i int, f wire.Flag) (dst []byte, ok bool) {
	at := &c.ops.flags.awaits.Flags[i]
	if !at.IsChunk() || f.Mark != at.mark || c.fate.err != nil {
		return nil, false
	}
	return c.ops.open(at.Seq).bytesOf(at.slot), true
}

// Lent returns the chunks that others still have to collect. It changes with every step of the
// core.
func (c *Core) Lent() []Lent { return c.ops.flags.shelf.lent }

// Collected says that all receivers have collected chunk i of Lent.
func (c *Core) Collected(i int) {
	v := &c.ops.flags.shelf
	c.ops.open(v.lent[i].seq).unsent--
	v.lent = slices.Delete(v.lent, i, i+1)
	c.ops.resume()
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

// takeBack revokes all lent chunks of this rank.
func (ops *operations) takeBack() {
	v := &ops.flags.shelf
	for _, l := range v.lent {
		v.net.Revoke(l.Line)
		if o := ops.open(l.seq); o != nil {
			o.unsent--
		}
	}
	v.lent = v.lent[:0]
}
