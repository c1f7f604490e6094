package machine

import "github.com/schedgen/schedgen/ir"

// Code is one rank's program as generated code states it: all that is the
// same for every operation, except what an arrival triggers, which the
// generated engine's Set does. It is built once for a rank and not written
// after that.
type Code struct {
	Rank    int
	Chunks  int
	Signals int
	Need    []int32       // counter -> its value in the beginning
	Must    int           // rules that must fire
	Keep    bool          // the rank may be asked for chunks after the call
	New     func() Engine // a new engine for this code

	done     []ir.Slot   // without duplicates, in the order of slots
	do       []ir.Action // the actions of all rules, then those of repairs
	plain    int         // how many of them are not of repairs
	repairs  []codeRepair
	recovery ir.Recovery
}

type codeRepair struct {
	unless ir.Slot
	after  int
	lo, hi int // its actions in do
}

// Wait adds a slot to those that the operation waits for: enter first, then
// chunks, then signals, each once.
func (c *Code) Wait(s ir.Slot) { c.done = append(c.done, s) }

// Put adds a put of slot s to rank to.
func (c *Code) Put(s ir.Slot, to int) { c.do = append(c.do, ir.PutTo(s, to)) }

// Mcast adds a multicast of chunk slot s.
func (c *Code) Mcast(s ir.Slot) { c.do = append(c.do, ir.McastOf(s)) }

// Again makes the n actions added last a repair, due after a number of base
// timeouts and unwanted when slot unless is set. Repairs are numbered from 0.
// All actions of other rules must have been added before.
func (c *Code) Again(unless ir.Slot, after, n int) {
	if len(c.repairs) == 0 {
		c.plain = len(c.do) - n
	}
	c.repairs = append(c.repairs, codeRepair{unless, after, len(c.do) - n, len(c.do)})
}

// Ask adds a rank to those that this one asks for chunks that a multicast has
// not brought.
func (c *Code) Ask(rank int) { c.recovery.Ask = append(c.recovery.Ask, int32(rank)) }

// ReportTo has the rank report to another how far a multicast has come.
func (c *Code) ReportTo(rank int) { c.recovery.Reports, c.recovery.ReportTo = true, int32(rank) }

// ReportFrom adds a rank to those that report to this one.
func (c *Code) ReportFrom(rank int) {
	c.recovery.ReportFrom = append(c.recovery.ReportFrom, int32(rank))
}

// Twice adds a put of signal slot s that is sent a second time while losses are
// seen.
func (c *Code) Twice(s ir.Slot, to int) { c.recovery.Twice = append(c.recovery.Twice, ir.PutTo(s, to)) }

// Engine implements [Program].
func (c *Code) Engine() Engine { return c.New() }

// Keeps implements [Program].
func (c *Code) Keeps() bool { return c.Keep }

// Recovery implements [Program].
func (c *Code) Recovery() ir.Recovery { return c.recovery }

// Repair implements [Program].
func (c *Code) Repair(n int32) (after int, ok bool) {
	return c.repairs[n].after, true
}

// Actions implements [Program].
func (c *Code) Actions(repair int32) []ir.Action {
	r := &c.repairs[repair]
	return c.do[r.lo:r.hi]
}

// Outline implements [Program].
func (c *Code) Outline() ir.Program {
	p := ir.Program{Rank: c.Rank, Signals: c.Signals, Done: c.done}
	plain := c.do
	if len(c.repairs) > 0 {
		plain = c.do[:c.plain]
	}
	if len(plain) > 0 {
		p.Rules = append(p.Rules, ir.Rule{Do: plain})
	}
	for _, r := range c.repairs {
		p.Rules = append(p.Rules, ir.Rule{Unless: r.unless, After: r.after, Do: c.do[r.lo:r.hi]})
	}
	return p
}

// index numbers the slots: enter, chunks, signals; -1 for others.
func (c *Code) index(s ir.Slot) int { return slotIndex(s, c.Chunks, c.Signals) }

// Base is what engines of generated code have in common: they embed it and
// add Set. Slots are numbered as bits: 0 is enter, then come the chunks, then
// the signals.
type Base struct {
	Bits     []uint64    // bit -> the slot is set
	Left     []int32     // counter -> slots that the rules of the counter still wait for
	DoneLeft int         // done slots that are not set
	MustLeft int         // rules that must fire and have not
	Do       []ir.Action // of all rules and repairs

	code   *Code
	armed  []int32 // scratch that Set returns
	due    []bool  // repair -> what it waits for is set
	joined joiner
}

// NewBase returns the base of an engine for c, with nothing set.
func NewBase(c *Code) Base {
	b := Base{
		Bits: make([]uint64, (1+c.Chunks+c.Signals+63)/64),
		Left: make([]int32, len(c.Need)),
		Do:   c.do,
		code: c,
	}
	if n := len(c.repairs); n > 0 {
		b.armed = make([]int32, 0, n)
		b.due = make([]bool, n)
	}
	b.Clear()
	return b
}

// Clear implements [Engine].
func (b *Base) Clear() {
	clear(b.Bits)
	copy(b.Left, b.code.Need)
	clear(b.due)
	b.DoneLeft = len(b.code.done)
	b.MustLeft = b.code.Must
}

// Mark sets bit i and reports whether it was not set.
func (b *Base) Mark(i int) bool {
	word, bit := &b.Bits[uint(i)/64], uint64(1)<<(uint(i)%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

// Marked reports whether bit i is set.
func (b *Base) Marked(i int) bool {
	return b.Bits[uint(i)/64]&(1<<(uint(i)%64)) != 0
}

// Join returns do followed by more. The result is valid until the next Set.
func (b *Base) Join(do, more []ir.Action) []ir.Action {
	if len(do) == 0 {
		return more
	}
	return b.joined.join(do, more)
}

// Disarm empties the list that Arm adds to.
func (b *Base) Disarm() { b.armed = b.armed[:0] }

// Arm adds the repairs lo … hi-1 to those that Set returns.
func (b *Base) Arm(lo, hi int) {
	for r := lo; r < hi; r++ {
		b.armed = append(b.armed, int32(r))
		b.due[r] = true
	}
}

// Armed returns the repairs that were added since Disarm.
func (b *Base) Armed() []int32 { return b.armed }

// Valid implements [Engine].
func (b *Base) Valid(s ir.Slot) bool { return b.code.index(s) >= 0 }

// Has implements [Engine].
func (b *Base) Has(s ir.Slot) bool {
	i := b.code.index(s)
	return i >= 0 && b.Marked(i)
}

// Pending implements [Engine].
func (b *Base) Pending(repair int32) bool {
	return b.due[repair] && !b.Has(b.code.repairs[repair].unless)
}

// Done implements [Engine].
func (b *Base) Done() bool { return b.DoneLeft == 0 }

// Retired implements [Engine].
func (b *Base) Retired() bool { return b.MustLeft == 0 }

// Progress implements [Engine].
func (b *Base) Progress() (fired, of int) { return b.code.Must - b.MustLeft, b.code.Must }

// Missing implements [Engine].
func (b *Base) Missing(dst []ir.Slot, most int) []ir.Slot {
	for _, s := range b.code.done {
		if most == 0 {
			break
		}
		if !b.Has(s) {
			dst = append(dst, s)
			most--
		}
	}
	return dst
}
