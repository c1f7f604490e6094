package fixpoint

import "github.com/schedgen/schedgen/ir"

// Model says which of the transfers that need not happen do happen. The zero
// value is the world in which nothing is lost and nobody runs out of patience.
type Model struct {
	LoseMcast bool // every multicast is lost at every rank

	// Lost, unless nil, says which rank loses whose multicast of a chunk.
	Lost func(from, to, chunk int) bool

	// Repairs lets a repair rule fire when its When holds and its Unless is
	// not set once everything else has come to rest.
	Repairs bool

	// EveryRepair lets repair rules fire as soon as their When holds, whatever
	// Unless says: together with multicasts that arrive, all that can happen.
	EveryRepair bool

	Without []Place // slots that stay unset whatever happens
}

// Result is the least fixpoint: rounds of slots and rules.
type Result struct {
	schedule *ir.Schedule
	layout   *Layout
	slots    []int32 // round by slot number, -1: never set
	rules    []int32 // round by rule number, -1: never fires
	causes   []int32 // by slot number: the rule that set it first, -1: none
	fired    []int32 // rule numbers in the order they fire
}

// Run computes the least fixpoint of s under m. All ranks enter in round 0.
// It fails if the schedule names a rank or slot that does not exist.
func Run(s *ir.Schedule, m Model) (*Result, error) {
	l, err := NewLayout(s)
	if err != nil {
		return nil, err
	}
	w, err := NewWaiters(s, l)
	if err != nil {
		return nil, err
	}
	return RunWith(s, l, w, m), nil
}

// RunWith is [Run] with the layout and waiters of s at hand, for callers that
// look at one schedule under several models.
func RunWith(s *ir.Schedule, l *Layout, w *Waiters, m Model) *Result {
	e := newEngine(s, l, w, m)
	e.start()
	for {
		e.run()
		if !e.repair() {
			return e.result()
		}
	}
}

// Slot returns the round in which slot s of rank is set, -1 if it never is or
// does not exist. enter, and the chunks that the rank holds, are set in round 0,
// whether the schedule mentions them or not.
func (r *Result) Slot(rank int, s ir.Slot) int {
	if id := r.layout.Slot(rank, s); id >= 0 {
		return int(r.slots[id])
	}
	if s.Kind() == ir.KindChunk && rank >= 0 && rank < r.layout.Ranks() && r.schedule.Holds(rank, s.Index()) {
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

// Rule returns the round in which the given rule of rank fires, the latest
// round of its When, -1 if it never fires or does not exist. A repair under
// Model.Repairs fires in the round in which everything else has come to rest.
func (r *Result) Rule(rank, rule int) int {
	if id := r.layout.Rule(rank, rule); id >= 0 {
		return int(r.rules[id])
	}
	return -1
}

// Layout returns the numbering that Slots, Rules and Fired use.
func (r *Result) Layout() *Layout { return r.layout }

// Slots returns the round of every slot by its number. Not to be modified.
func (r *Result) Slots() []int32 { return r.slots }

// Rules returns the round of every rule by its number. Not to be modified.
func (r *Result) Rules() []int32 { return r.rules }

// Cause returns the number of the rule that first sets the slot of the given
// number, -1 if the slot is never set or is set from the beginning.
func (r *Result) Cause(slot int) int { return int(r.causes[slot]) }

// Fired returns the numbers of the rules that fire, each after all rules that
// first set what it waits for. Not to be modified.
func (r *Result) Fired() []int32 { return r.fired }
