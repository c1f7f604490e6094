package machine

import "github.com/schedgen/schedgen/ir"

// Machine is one operation in execution at one rank. The zero Machine has no
// plan; Reset gives it one. A machine is used by one goroutine at a time.
type Machine struct {
	plan     *Plan
	set      []bool
	left     []int32 // rule -> slots it still waits for
	fired    []int32 // scratch that Set returns
	doneLeft int
	mustLeft int // rules that must fire and have not
}

// Reset starts a new operation under plan, with nothing set. It costs time in
// proportion to the plan and allocates only if no earlier plan was as large.
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

// Plan returns the plan of the running operation, nil before the first.
func (m *Machine) Plan() *Plan { return m.plan }

// Valid reports whether the rank has slot s.
func (m *Machine) Valid(s ir.Slot) bool { return m.plan.index(s) >= 0 }

// Has reports whether s is set. A slot that the rank does not have never is.
func (m *Machine) Has(s ir.Slot) bool {
	i := m.plan.index(s)
	return i >= 0 && m.set[i]
}

// Set sets slot s and returns the rules whose last slot that was, repairs
// among them: their actions are due now, those of repairs as long as [Machine.Pending]
// says so. A slot that is set already, or that the rank does not have,
// changes nothing. The result is valid until the next call.
func (m *Machine) Set(s ir.Slot) []int32 {
	m.fired = m.fired[:0]
	i := m.plan.index(s)
	if i < 0 || m.set[i] {
		return nil
	}
	m.mark(i)
	if i == 0 && m.plan.holds {
		for k := 1; k <= m.plan.chunks; k++ {
			m.mark(k)
		}
	}
	return m.fired
}

func (m *Machine) mark(i int) {
	if m.set[i] {
		return
	}
	m.set[i] = true
	if m.plan.done[i] {
		m.doneLeft--
	}
	for _, r := range m.plan.waiters[m.plan.waitersAt[i]:m.plan.waitersAt[i+1]] {
		m.left[r]--
		if m.left[r] != 0 {
			continue
		}
		m.fired = append(m.fired, r)
		if !m.plan.optional[r] {
			m.mustLeft--
		}
	}
}

// Pending reports whether repair rule is still wanted: what it waits for is
// set and its unless slot is not.
func (m *Machine) Pending(rule int32) bool {
	u := m.plan.unless[rule]
	return u >= 0 && m.left[rule] == 0 && !m.set[u]
}

// Done reports whether all done slots are set.
func (m *Machine) Done() bool { return m.doneLeft == 0 }

// Retired reports whether every rule has fired that must: all but repairs and
// answers to requests.
func (m *Machine) Retired() bool { return m.mustLeft == 0 }

// Progress returns how many of the rules that must fire have fired, and how
// many there are.
func (m *Machine) Progress() (fired, of int) {
	for _, optional := range m.plan.optional {
		if !optional {
			of++
		}
	}
	return of - m.mustLeft, of
}

// Missing appends the done slots that are not set yet to dst, at most max.
func (m *Machine) Missing(dst []ir.Slot, max int) []ir.Slot {
	for i, done := range m.plan.done {
		if max == 0 {
			break
		}
		if done && !m.set[i] {
			dst = append(dst, m.plan.slot(i))
			max--
		}
	}
	return dst
}
