package schedule

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// size is what a program takes, counted before it is written.
type size struct {
	rules int
	slots int // all of When and Done, where slices that overlap count once
	acts  int
	peers int // ranks that the recovery names
}

// memory is memory for programs, each of which takes the place of the one before;
// the zero value has none yet.
type memory struct {
	rules []ir.Rule
	slots []ir.Slot
	acts  []ir.Action
	peers []int32
}

// arena is the memory of one program, of known size: rules and what they are slices
// of, and ranks if its recovery names any. A program writes its slots first and then the
// actions of one rule after the other.
type arena struct {
	rules []ir.Rule
	slots []ir.Slot
	acts  []ir.Action
	peers []int32
	made  ir.Recovery
	open  int // first action of the rule that is being written

	// Of programs that fold: which slot has the present partial result of each part of the vector, and
	// slots that the rank may not return without.
	now, late []ir.Slot
	to        []int // ranks that one rule puts to
}

// arena returns an arena of just the size that is asked for.
func (m *memory) arena(z size) arena {
	return arena{rules: room(&m.rules, z.rules), slots: room(&m.slots, z.slots), acts: room(&m.acts, z.acts), peers: room(&m.peers, z.peers)}
}

// room returns an empty slice of capacity n, nil for none, in memory that is made
// larger if it has to be.
func room[T any](of *[]T, n int) []T {
	if n == 0 {
		return nil
	}
	if n > cap(*of) {
		*of = make([]T, 0, max(n, 2*cap(*of)))
	}
	return (*of)[:0:n]
}

// wait writes one slot.
func (a *arena) wait(s ir.Slot) { a.slots = append(a.slots, s) }

// waitChunks writes the slots of n chunks.
func (a *arena) waitChunks(n int) { a.waitRange(0, n) }

// waitRange writes the slots of chunks from … to-1.
func (a *arena) waitRange(from, to int) {
	at := len(a.slots)
	a.slots = slices.Grow(a.slots, to-from)[:at+to-from]
	next := ir.Chunk(from)
	for i, slots := 0, a.slots[at:]; i < len(slots); i++ {
		slots[i] = next
		next++
	}
}

// waitSignals writes the slots of signals from … to-1.
func (a *arena) waitSignals(from, to int) {
	for j := from; j < to; j++ {
		a.wait(ir.Signal(j))
	}
}

// span returns the slots written from lo to before hi.
func (a *arena) span(lo, hi int) []ir.Slot { return a.slots[lo:hi:hi] }

// put adds an action to the rule that is being written.
func (a *arena) put(s ir.Slot, to int) { a.acts = append(a.acts, ir.PutTo(s, to)) }

// again adds the last n actions once more, for chunk k. Working out who they go
// to costs more than copying them.
func (a *arena) again(n, k int) {
	from := len(a.acts)
	a.acts = append(a.acts, a.acts[from-n:]...)
	for i := from; i < len(a.acts); i++ {
		a.acts[i].Slot = ir.Chunk(k)
	}
}

// putChunks adds n actions, which put chunks 0 … n-1 to one rank.
func (a *arena) putChunks(n, to int) {
	from := len(a.acts)
	a.acts = slices.Grow(a.acts, n)[:from+n]
	for k, acts := 0, a.acts[from:]; k < len(acts); k++ {
		acts[k] = ir.PutTo(ir.Chunk(k), to)
	}
}

// mcastChunks adds n actions, which multicast chunks 0 … n-1.
func (a *arena) mcastChunks(n int) {
	for k := range n {
		a.acts = append(a.acts, ir.McastOf(ir.Chunk(k)))
	}
}

// rule ends the rule that is being written; one without actions is left out.
func (a *arena) rule(when []ir.Slot) { a.repair(when, ir.None, 0) }

// repair ends a repair rule.
func (a *arena) repair(when []ir.Slot, unless ir.Slot, after int) {
	do := a.acts[a.open:len(a.acts):len(a.acts)]
	if len(do) == 0 {
		return
	}
	a.rules = append(a.rules, ir.Rule{When: when, Do: do, Unless: unless, After: after})
	a.open = len(a.acts)
}

// last returns the n actions written last.
func (a *arena) last(n int) []ir.Action { return a.acts[len(a.acts)-n : len(a.acts) : len(a.acts)] }

// program returns the finished program.
func (a *arena) program(n *node, signals int, done []ir.Slot) ir.Program {
	return ir.Program{Rank: n.rank, Signals: signals, Values: valuesOf(a.acts, a.slots), Rules: a.rules, Done: done, Recovery: a.made}
}

// valuesOf returns how many partial results a rank has whose program waits for the slots and does the
// actions: all that it waits for, uses or makes.
func valuesOf(acts []ir.Action, slots []ir.Slot) int {
	n := 0
	see := func(s ir.Slot) {
		if s.Kind() == ir.KindValue {
			n = max(n, s.Index()+1)
		}
	}
	for _, s := range slots {
		see(s)
	}
	for _, act := range acts {
		see(act.Slot)
		if act.Op == ir.Fold {
			see(act.As)
		}
	}
	return n
}

// count returns 1 for true, for sizes.
func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
