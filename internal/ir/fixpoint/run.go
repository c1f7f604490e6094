package fixpoint

import "github.com/schedgen/schedgen/ir"

// Model says which of the events that need not happen do happen. In the zero value no multicast is
// lost and no repair fires.
type Model struct {
	LoseMcast bool // every multicast is lost at every rank

	// Lost reports whether rank to loses rank from's multicast of a chunk. nil: no loss.
	Lost func(from, to, chunk int) bool

	// Repairs lets a repair rule fire when nothing else can happen, if its When holds and its
	// Unless is not set.
	Repairs bool

	// EveryRepair lets repair rules fire as soon as their When holds, even if Unless is set. If
	// multicasts arrive as well, everything happens that can happen.
	EveryRepair bool

	Without []Place // slots that are never set
}

// Result is the least fixpoint of a System: the rounds of its slots and rules.
type Result struct {
	system *System
	slots  []int32 // by slot number: its round, -1: never set
	rules  []int32 // by rule number: its round, -1: never fires
	causes []int32 // by slot number: the rule that set it first, -1: none
	fired  []int32 // rule numbers in the order they fire
}

// Run computes the least fixpoint of s under m. All ranks enter in round 0. Run fails if
// [NewSystem] does, such as for a rank or slot that does not exist.
func Run(s *ir.Schedule, m Model) (*Result, error) {
	y, err := NewSystem(s)
	if err != nil {
		return nil, err
	}
	return y.Run(m), nil
}

// Run computes the least fixpoint under m. If the slots of y have no names, m.Without must be
// empty.
func (y *System) Run(m Model) *Result {
	e := newEngine(y, m)
	e.start()
	for {
		e.propagate()
		if !e.repair() {
			return &e.Result
		}
	}
}

// Slot returns the round in which slot s of rank is set, or -1 if it never is or does not exist. It
// is for a System with names, as Rule and All are. Enter and the chunks that the rank holds are set
// in round 0, even if the schedule does not mention them.
func (r *Result) Slot(rank int, s ir.Slot) int {
	if id := r.system.layout.Slot(rank, s); id >= 0 {
		return int(r.slots[id])
	}
	if s.Kind() == ir.KindChunk && rank >= 0 && rank < r.system.Ranks() && r.system.schedule.Holds(rank, s.Index()) {
		return r.Slot(rank, ir.Enter)
	}
	return -1
}

// All reports whether all the slots of rank are set.
func (r *Result) All(rank int, slots []ir.Slot) bool {
	for _, s := range slots {
		if r.Slot(rank, s) < 0 {
			return false
		}
	}
	return true
}

// Rule returns the round in which the given rule of rank fires, or -1 if it never fires or does not
// exist. A plain rule fires in the latest round of its When. A repair under Model.Repairs fires in
// the last round before it was needed.
func (r *Result) Rule(rank, rule int) int {
	if id := r.system.layout.Rule(rank, rule); id >= 0 {
		return int(r.rules[id])
	}
	return -1
}

// Layout returns the numbering that Slots, Rules and Fired use.
func (r *Result) Layout() *Layout { return r.system.layout }

// Slots returns the round of every slot, by its number. Callers must not modify it.
func (r *Result) Slots() []int32 { return r.slots }

// Rules returns the round of every rule, by its number. Callers must not modify it.
func (r *Result) Rules() []int32 { return r.rules }

// Cause returns the number of the rule that first sets the slot with the given number. It returns
// -1 if the slot is never set or is set from the beginning.
func (r *Result) Cause(slot int) int { return int(r.causes[slot]) }

// Fired returns the numbers of the rules that fire. Each rule comes after the rules that first set
// the slots it waits for. Callers must not modify the result.
func (r *Result) Fired() []int32 { return r.fired }
