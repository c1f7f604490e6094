package machine

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// Machine is one running operation at one rank. The zero Machine has no plan; Reset gives it one.
// One goroutine at a time may use a Machine.
type Machine struct {
	plan     *Plan `state:"fixed"`
	set      []bool
	left     []int32     // rule -> slots it still waits for
	fired    []int32     `state:"scratch"` // scratch of Set: rules that fire
	joined   []ir.Action `state:"scratch"` // scratch of several: the actions of several rules
	doneLeft int
	mustLeft int // rules that must fire and have not fired
}

// Reset starts a new operation under plan, with no slot set. It takes time in proportion to the
// plan, and allocates only if no earlier plan was as large.
func (m *Machine) Reset(plan *Plan) {
	m.plan = plan
	m.set = grown(m.set, plan.slots())
	clear(m.set)
	m.left = grown(m.left, len(plan.need))
	copy(m.left, plan.need)
	if cap(m.fired) < len(plan.need) {
		m.fired = make([]int32, 0, len(plan.need))
	}
	m.doneLeft = plan.doneCount
	m.mustLeft = 0
	for _, optional := range plan.optional {
		if !optional {
			m.mustLeft++
		}
	}
}

func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// Plan returns the plan of the running operation, or nil before the first.
func (m *Machine) Plan() *Plan { return m.plan }

// Valid reports whether the rank has slot s.
func (m *Machine) Valid(s ir.Slot) bool { return m.plan.valid(s) }

// Has reports whether s is set. It is false for slots that the rank does not have.
func (m *Machine) Has(s ir.Slot) bool {
	if i := m.plan.numbers.Index(s); i >= 0 {
		return m.set[i]
	}
	return m.set[0] && s.Kind() == ir.KindChunk && m.plan.held.Has(s.Index())
}

// Set sets slot s. It returns the actions of the rules that fire, in order, and the numbers of the
// repair rules to arm. A slot that is set already, or that the rank does not have, changes nothing.
// The results are valid until the next call.
func (m *Machine) Set(s ir.Slot) (do []ir.Action, arm []int32) {
	i := m.plan.numbers.Index(s)
	if i < 0 || m.set[i] {
		return nil, nil
	}
	fired := m.mark(m.fired[:0], i)
	if i == 0 {
		fired = m.hold(fired)
	}
	switch {
	case len(fired) == 0:
		return nil, nil
	case len(fired) == 1 && m.plan.unless[fired[0]] < 0:
		return m.plan.Actions(fired[0]), nil
	}
	return m.several(fired)
}

// hold sets the chunks that the rank has from the start, and appends the rules that fire.
func (m *Machine) hold(fired []int32) []int32 {
	for _, held := range m.plan.holding {
		for i := held.lo; i < held.hi; i++ {
			if !m.set[i] {
				fired = m.mark(fired, int(i))
			}
		}
	}
	return fired
}

// mark sets slot i, which must not be set, and appends the rules that fire.
func (m *Machine) mark(fired []int32, i int) []int32 {
	pl, left := m.plan, m.left
	m.set[i] = true
	if pl.done[i] {
		m.doneLeft--
	}
	for _, r := range pl.waiters[pl.waitersAt[i]:pl.waitersAt[i+1]] {
		n := left[r] - 1
		if left[r] = n; n != 0 {
			continue
		}
		fired = append(fired, r)
		if !pl.optional[r] {
			m.mustLeft--
		}
	}
	return fired
}

// several returns the actions of the fired rules, and moves the repairs among them to the front of
// fired.
func (m *Machine) several(fired []int32) (do []ir.Action, arm []int32) {
	arm = fired[:0]
	m.joined = m.joined[:0]
	for _, r := range fired {
		switch more := m.plan.Actions(r); {
		case m.plan.unless[r] >= 0:
			arm = append(arm, r)
		case len(do) == 0:
			do = more
		default:
			if len(m.joined) == 0 {
				m.joined = append(m.joined, do...)
			}
			m.joined = append(m.joined, more...)
			do = m.joined
		}
	}
	return do, arm
}

// Pending reports whether repair rule is still wanted: the slots it waits for are set, and its
// unless slot is not set.
func (m *Machine) Pending(rule int32) bool {
	u := m.plan.unless[rule]
	return u >= 0 && m.left[rule] == 0 && !m.set[u]
}

// Awaits reports whether s is not set, and the operation or a rule that must fire waits for it.
func (m *Machine) Awaits(s ir.Slot) bool {
	pl := m.plan
	i := pl.numbers.Index(s)
	if i < 0 || m.set[i] {
		return false
	}
	return pl.done[i] || slices.ContainsFunc(pl.waiters[pl.waitersAt[i]:pl.waitersAt[i+1]], func(r int32) bool { return !pl.optional[r] })
}

// Done reports whether all done slots are set.
func (m *Machine) Done() bool { return m.doneLeft == 0 }

// Retired reports whether every rule that must fire has fired. Repairs and answers to requests need
// not fire.
func (m *Machine) Retired() bool { return m.mustLeft == 0 }

// Progress returns how many of the rules that must fire have fired, and how many such rules there
// are.
func (m *Machine) Progress() (fired, of int) {
	for _, optional := range m.plan.optional {
		if !optional {
			of++
		}
	}
	return of - m.mustLeft, of
}

// Missing returns the slots that keep the operation from being done, ascending: done slots that are
// not set yet, and slots for which rules that must fire wait, since other ranks may wait for these
// rules. In place of a slot that the rank itself folds, it returns what the fold still lacks.
func (m *Machine) Missing() (missing []ir.Slot) {
	if m.Done() {
		return nil
	}
	pl := m.plan
	maker, lacks := pl.folds(), make(map[int32][]int) // by rule: the slots that it still waits for
	for i := range m.set {
		if len(maker) == 0 || m.set[i] {
			continue
		}
		for _, r := range pl.waiters[pl.waitersAt[i]:pl.waitersAt[i+1]] {
			lacks[r] = append(lacks[r], i)
		}
	}
	seen := make([]bool, len(m.set))
	var add func(i int)
	add = func(i int) {
		if m.set[i] || seen[i] {
			return
		}
		seen[i] = true
		rule, folded := maker[i]
		if !folded || m.left[rule] == 0 {
			missing = append(missing, pl.slot(i))
			return
		}
		for _, j := range lacks[rule] {
			add(j)
		}
	}
	for i := range m.set {
		if m.Awaits(pl.slot(i)) {
			add(i)
		}
	}
	slices.Sort(missing)
	return missing
}

// folds returns the rules that fold slots, by the slots' numbers.
func (pl *Plan) folds() map[int]int32 {
	makers := make(map[int]int32)
	for r := range int32(pl.Rules()) {
		for _, a := range pl.Actions(r) {
			if a.Op == ir.Fold {
				makers[pl.numbers.Index(a.As)] = r
			}
		}
	}
	return makers
}
