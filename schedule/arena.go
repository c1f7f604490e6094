package schedule

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// size is the memory that a program needs, counted before it is written.
type size struct {
	rules int
	slots int // all of When and Done; slices that overlap count once
	acts  int
	peers int // ranks that the recovery names
}

// memory is memory for programs. Each program overwrites the one before. The zero value is empty.
type memory struct {
	rules []ir.Rule
	slots []ir.Slot
	acts  []ir.Action
	peers []int32
}

// arena is the memory of one program whose size is known: its rules, the slots and actions that
// these refer to, and the ranks that its recovery names. A program writes its slots first and then
// the actions of its rules, one rule after the other.
type arena struct {
	rules []ir.Rule
	slots []ir.Slot
	acts  []ir.Action
	peers []int32
	made  ir.Recovery
	open  int // first action of the current rule

	// counts says that only the size of the program is needed. If the program has more rules or
	// actions than most, it is enough to know that, so its writing ends with the panic tooLong.
	// It keeps only its last rule.
	counts  bool
	most    int64
	dropped size // rules and actions before the last rule

	// For programs that fold: the slot with the current partial result of each part of the vector,
	// and the slots without which the rank may not return.
	now, late []ir.Slot
	to        []int // the ranks to which a rule puts
}

// arena returns an arena of exactly size z.
func (m *memory) arena(z size) arena {
	return arena{rules: room(&m.rules, z.rules), slots: room(&m.slots, z.slots), acts: room(&m.acts, z.acts), peers: room(&m.peers, z.peers)}
}

// room returns an empty slice of capacity n, or nil if n is 0. It enlarges the memory if necessary.
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

// waitChunks writes the slots of chunks 0 … n-1.
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

// span returns the slots lo … hi-1 that have been written.
func (a *arena) span(lo, hi int) []ir.Slot { return a.slots[lo:hi:hi] }

// put adds an action to the current rule.
func (a *arena) put(s ir.Slot, to int) { a.acts = append(a.acts, ir.PutTo(s, to)) }

// again repeats the last n actions for chunk k. Copying them costs less than computing their
// destinations again.
func (a *arena) again(n, k int) {
	from := len(a.acts)
	a.acts = append(a.acts, a.acts[from-n:]...)
	for i := from; i < len(a.acts); i++ {
		a.acts[i].Slot = ir.Chunk(k)
	}
}

// putChunks adds n actions that put chunks 0 … n-1 to one rank.
func (a *arena) putChunks(n, to int) {
	from := len(a.acts)
	a.acts = slices.Grow(a.acts, n)[:from+n]
	for k, acts := 0, a.acts[from:]; k < len(acts); k++ {
		acts[k] = ir.PutTo(ir.Chunk(k), to)
	}
}

// mcastChunks adds n actions that multicast chunks 0 … n-1.
func (a *arena) mcastChunks(n int) {
	for k := range n {
		a.acts = append(a.acts, ir.McastOf(ir.Chunk(k)))
	}
}

// rule ends the current rule. It leaves out a rule without actions.
func (a *arena) rule(when []ir.Slot) { a.repair(when, ir.None, 0) }

// repair ends the current rule as a repair.
func (a *arena) repair(when []ir.Slot, unless ir.Slot, after int) {
	do := a.acts[a.open:len(a.acts):len(a.acts)]
	if len(do) == 0 {
		return
	}
	a.rules = append(a.rules, ir.Rule{When: when, Do: do, Unless: unless, After: after})
	if a.counts {
		a.drop()
	}
	a.open = len(a.acts)
}

// drop counts and drops the rules and actions before the last rule.
func (a *arena) drop() {
	last := len(a.rules) - 1
	a.dropped.rules += last
	a.dropped.acts += a.open
	a.rules = a.rules[:copy(a.rules, a.rules[last:])]
	a.acts = a.acts[:copy(a.acts, a.acts[a.open:])]
	if int64(max(a.dropped.rules+len(a.rules), a.dropped.acts+len(a.acts))) > a.most {
		panic(tooLong{})
	}
}

// tooLong is the panic of an arena that only counts.
type tooLong struct{}

// last returns the last n actions.
func (a *arena) last(n int) []ir.Action { return a.acts[len(a.acts)-n : len(a.acts) : len(a.acts)] }

// program returns the finished program.
func (a *arena) program(n *node, signals int, done []ir.Slot) ir.Program {
	values := 0
	if !a.counts {
		values = valuesOf(a.acts, a.slots)
	}
	return ir.Program{Rank: n.rank, Signals: signals, Values: values, Rules: a.rules, Done: done, Recovery: a.made}
}

// valuesOf returns the number of partial results of a rank whose program waits for slots and does
// acts.
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

// count returns 1 for true and 0 for false.
func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
