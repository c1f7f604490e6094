package verify

import (
	"slices"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
)

// A quotient holds the equations of a schedule for some of its ranks, the members, and for sets of
// slots that are always set together, here called slots, too. There are three kinds. In a schedule
// that rotates, the first ranks are members and stand for all (see rotation.go). In a schedule
// of many chunks, every rank is a member, and its slots are intervals of chunks and of partial
// results (see intervals.go). In a schedule that flows downstream, each rank is the only member in
// its turn (see downstream.go). All are exact: the equations of the schedule are copies of those of
// the quotient, or of the quotients.
//
// A quotient decides only questions about slots that need no must-analysis, and reuse. In all other
// cases, and above all if there is a fault, it leaves the answer to the full checks, which can
// explain it.
type quotient struct {
	equations
	s       *ir.Schedule // the header; programs only of members, and only if they have few slots
	members []member     // ranks of the System

	multicasts bool
	arrivals   []fixpoint.Arrival // what ranks that are no members put to members, the earliest first

	deeds [][]deed // by rule: what it does
	ids   []int32  // lists of slots

	// By slot: the members' slots are numbered one member after the other.
	initial  []bool  // it is set from the beginning
	wants    []bool  // a chunk that the rank wants
	received []int32 // how many puts and folds of fired rules set it
	folder   []int32 // the last rule that folds it, -1: none
}

// member is a rank whose equations a quotient holds.
type member struct {
	rank                    int
	slots                   run // the first is enter
	chunks, signals, values run // parts of slots
	rules                   run
	sole                    []soleReader
}

// soleReader is a result, and the only rule that reads the rank's contribution to it.
type soleReader struct{ slot, rule int32 }

// deed is a put, a multicast or a fold of slots that are set together.
type deed struct {
	to     int32 // the destination of a put, or as in fixpoint.Set
	signal bool
	input  bool // it reads the rank's contribution
	reads  run  // the other slots that it reads; part of ids
	sets   run  // part of what the System sets
}

// These numbers replace the destination where a deed is not a put. The proof accepts multicasts only
// in schedules that rotate and fold nothing.
const (
	folds = fixpoint.Here
	casts = fixpoint.All
)

func (q *quotient) list(r run) []int32 { return q.ids[r.lo:r.hi] }

// noted notes the last slots of ids as a list that begins at from.
func (q *quotient) noted(from int) run { return run{int32(from), int32(len(q.ids))} }

// memberOf returns the member to which a rule belongs.
func (q *quotient) memberOf(rule int32) *member { return &q.members[q.RankOf(int(rule))] }

// makeRoom makes the tables for n slots.
func (q *quotient) makeRoom(n int) {
	q.received, q.folder = make([]int32, n), slices.Repeat([]int32{-1}, n)
	q.initial, q.wants = make([]bool, n), make([]bool, n)
}

// addMember adds a member, whose initial slots are known, to the System.
func (q *quotient) addMember(m *member, done []int32) {
	var given []int32
	q.initial[m.slots.lo] = true
	for id := m.slots.lo + 1; id < m.slots.hi; id++ {
		if q.initial[id] {
			given = append(given, id)
		}
	}
	q.AddRank(m.slots.lo, given, done)
}

// link ends the System.
func (q *quotient) link() {
	for rule := range q.Rules() {
		for _, s := range q.Does(rule) {
			if s.To == folds {
				q.folder[s.Slot] = int32(rule)
			}
		}
	}
	q.Bring(q.arrivals)
	q.Finish(len(q.initial))
}

// sets returns what a deed sets.
func (q *quotient) sets(d *deed) []fixpoint.Set { return q.Sets()[d.sets.lo:d.sets.hi] }

// at returns the round in which a slot is set, -1 if it never is.
func (q *quotient) at(slot int32) int32 { return q.may.Slots()[slot] }

// computeRounds computes the rounds if nothing is lost. It reports whether every rule fires and
// every Done slot is set, also if every multicast is lost. That is what the check deadlock, and in
// part the check retire, require.
func (q *quotient) computeRounds() bool {
	if q.multicasts && !q.complete(q.Run(fixpoint.Model{LoseMcast: true})) {
		return false
	}
	if q.may = q.Run(fixpoint.Model{}); !q.complete(q.may) {
		return false
	}
	clear(q.received)
	for _, s := range q.Sets() {
		if s.To != casts {
			q.received[s.Slot]++
		}
	}
	for _, a := range q.arrivals {
		q.received[a.Slot]++
	}
	return true
}

// complete reports whether every rule fires and every Done slot is set.
func (q *quotient) complete(res *fixpoint.Result) bool {
	for i := range q.members {
		if slices.ContainsFunc(q.Done(i), func(id int32) bool { return res.Slots()[id] < 0 }) {
			return false
		}
	}
	return len(res.Fired()) == q.Rules()
}

// wellformed reports whether the schedule meets these conditions: no rank puts to itself; no rank
// puts or folds what it does not hold; every signal is put once and awaited; every partial result
// is put or folded once and read; every chunk is put to a rank that wants or names it.
func (q *quotient) wellformed() bool {
	awaited, read := make([]bool, len(q.initial)), make([]bool, len(q.initial))
	given := slices.Repeat([]int32{-1}, len(q.initial)) // by slot: the last rule that waits for it
	for i := range q.members {
		for _, id := range q.Done(i) {
			awaited[id] = true
		}
		if !q.givenAll(&q.members[i], given, awaited, read) {
			return false
		}
	}
	for i := range q.members {
		m := &q.members[i]
		for id := m.signals.lo; id < m.signals.hi; id++ {
			if q.received[id] != 1 || !awaited[id] {
				return false
			}
		}
		for id := m.values.lo; id < m.values.hi; id++ {
			if q.received[id] != 1 || !read[id] {
				return false
			}
		}
		for id := m.chunks.lo; id < m.chunks.hi; id++ {
			if q.received[id] > 0 && !awaited[id] && !q.wants[id] && !q.initial[id] {
				return false
			}
		}
	}
	return true
}

// givenAll notes what the rules of a member wait for and read. It reports whether they read only
// what is there.
func (q *quotient) givenAll(m *member, given []int32, awaited, read []bool) bool {
	for rule := m.rules.lo; rule < m.rules.hi; rule++ {
		for _, id := range q.When(int(rule)) {
			awaited[id], given[id] = true, rule
		}
		entered := given[m.slots.lo] == rule
		for i := range q.deeds[rule] {
			d := &q.deeds[rule][i]
			if int(d.to) == m.rank || d.input && !entered {
				return false
			}
			if d.to == folds {
				for _, s := range q.sets(d) {
					if awaited[s.Slot] = true; given[s.Slot] == rule {
						return false
					}
				}
			}
			for _, id := range q.list(d.reads) {
				awaited[id] = awaited[id] || d.to != casts
				read[id] = true
				switch {
				case !q.initial[id] && given[id] != rule:
					return false // it may be implied
				case q.initial[id] && !entered && q.s.Folds():
					return false
				}
			}
		}
	}
	return true
}

// once reports whether no chunk comes twice, or to a rank that holds it, and all wanted chunks
// come.
func (q *quotient) once() bool {
	for i := range q.members {
		for id := q.members[i].chunks.lo; id < q.members[i].chunks.hi; id++ {
			switch n := q.received[id]; {
			case n > 1 || n == 1 && q.initial[id]:
				return false
			case q.wants[id] && !q.initial[id] && (n != 1 || q.at(id) < 0):
				return false
			}
		}
	}
	return true
}

// patient reports whether Done implies all slots that a rank wants and for which its rules wait.
func (q *quotient) patient() bool {
	for i := range q.members {
		m := &q.members[i]
		done := q.returned(i)
		for id := m.chunks.lo; id < m.chunks.hi; id++ {
			if q.wants[id] && !q.initial[id] && !done[id-m.slots.lo] {
				return false
			}
		}
		for rule := m.rules.lo; rule < m.rules.hi; rule++ {
			for _, id := range q.When(int(rule)) {
				if !q.initial[id] && !done[id-m.slots.lo] {
					return false
				}
			}
		}
	}
	return true
}

// returned returns which slots of a member are set when the rank returns, as far as its own program
// and the terms show: see [stamps.returned]. The folds must be proved already.
func (q *quotient) returned(i int) []bool {
	m := &q.members[i]
	first := m.slots.lo
	done := make([]bool, m.slots.hi-first)
	var todo []int32
	add := func(id int32) {
		if !done[id-first] {
			done[id-first] = true
			todo = append(todo, id)
		}
	}
	add(first)
	for _, id := range q.Done(i) {
		add(id)
	}
	causes := func() {
		for ; len(todo) > 0; todo = todo[1:] {
			if id := todo[0]; q.folder[id] >= 0 && q.received[id] == 1 {
				for _, w := range q.When(int(q.folder[id])) {
					add(w)
				}
			}
		}
	}
	causes()
	for _, x := range m.sole {
		if done[x.slot-first] {
			for _, w := range q.When(int(x.rule)) {
				add(w)
			}
		}
	}
	causes()
	missing := make([]int32, m.rules.hi-m.rules.lo)
	for i := range missing {
		missing[i] = int32(len(q.When(int(m.rules.lo) + i)))
	}
	for i, is := range done {
		if id := first + int32(i); is || q.initial[id] {
			todo = append(todo, id)
		}
	}
	for ; len(todo) > 0; todo = todo[1:] {
		for _, rule := range q.Waiters(int(todo[0])) {
			if missing[rule-m.rules.lo]--; missing[rule-m.rules.lo] > 0 {
				continue
			}
			for _, s := range q.Does(int(rule)) {
				if s.To == folds && !q.initial[s.Slot] {
					add(s.Slot)
				}
			}
		}
	}
	return done
}

// ahead does the check reuse. ok is false if a flag could be set too soon, or if the sets take too
// much memory.
func (q *quotient) ahead() (ahead runAhead, ok bool) {
	ahead, err := aheadOf(&q.equations, func(to, slot int32) bool {
		m := &q.members[to-q.standsBy(to)]
		return m.signals.lo <= slot && slot < m.signals.hi
	}, maxRuns)
	return ahead, err == nil && ahead.flag == nil
}
