package verify

import (
	"slices"

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
	s       *ir.Schedule // the header; programs only of members, and only if they have few slots
	members []member
	period  int // the number of members if they stand for all ranks, otherwise 0

	multicasts bool

	rules []qrule // of all members, one member after the other
	ids   []int32 // the lists of rules: numbers of slots

	// By slot: the members' slots are numbered one member after the other.
	initial  []bool    // it is set from the beginning
	wants    []bool    // a chunk that the rank wants
	at       []int32   // the round in which it is set, -1: never
	received []int32   // how many puts and folds of fired rules set it
	folder   []int32   // the last rule that folds it, -1: none
	waiters  [][]int32 // the rules that wait for it

	arrivals []arrival // what ranks that are no members put to members, the earliest first

	rounds []int32 // by rule: the round in which it fires, -1: never
	fired  []int32 // rules in the order in which they fire
}

// member is a rank whose equations a quotient holds.
type member struct {
	rank                    int
	slots                   run // the first is enter
	chunks, signals, values run // parts of slots
	rules                   run
	done                    run // part of ids
	sole                    []soleReader
}

// arrival is a slot that a rank puts which is no member, and the round in which it comes.
type arrival struct{ slot, round int32 }

// soleReader is a result, and the only rule that reads the rank's contribution to it.
type soleReader struct{ slot, rule int32 }

// qrule is a rule of a member. Its lists are parts of quotient.ids and quotient.deeds.
type qrule struct {
	when run
	do   []deed
}

// deed is a put or a fold of slots that are set together.
type deed struct {
	to     int32 // the destination of a put, folds for a fold, casts for a multicast
	signal bool
	input  bool // it reads the rank's contribution
	reads  run  // the other slots that it reads; part of ids
	sets   run  // part of ids; a multicast sets a slot for each other rank, ascending
}

// These numbers replace the destination where a deed is not a put. The proof accepts multicasts only
// in schedules that rotate and fold nothing.
const (
	folds = -1
	casts = -2
)

func (q *quotient) list(r run) []int32 { return q.ids[r.lo:r.hi] }

// noted notes the last slots of ids as a list that begins at from.
func (q *quotient) noted(from int) run { return run{int32(from), int32(len(q.ids))} }

// memberOf returns the member to which a rule belongs.
func (q *quotient) memberOf(rule int32) *member {
	lo, hi := 0, len(q.members)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; q.members[mid].rules.lo <= rule {
			lo = mid
		} else {
			hi = mid
		}
	}
	return &q.members[lo]
}

// makeRoom makes the tables for n slots.
func (q *quotient) makeRoom(n int) {
	q.at, q.folder, q.received = filled(n, -1), filled(n, -1), make([]int32, n)
	q.initial, q.wants = make([]bool, n), make([]bool, n)
}

// link fills in the tables that follow from the rules.
func (q *quotient) link() {
	counts := make([]int32, len(q.at)+1)
	total := int32(0)
	for i := range q.rules {
		for _, id := range q.list(q.rules[i].when) {
			counts[id]++
			total++
		}
	}
	q.waiters = make([][]int32, len(q.at))
	all := make([]int32, total)
	for id := range q.waiters {
		q.waiters[id], all = all[:0:counts[id]], all[counts[id]:]
	}
	for i := range q.rules {
		for _, id := range q.list(q.rules[i].when) {
			q.waiters[id] = append(q.waiters[id], int32(i))
		}
		for _, d := range q.rules[i].do {
			for _, id := range q.list(d.sets) {
				if d.to == folds {
					q.folder[id] = int32(i)
				}
			}
		}
	}
	q.rounds = filled(len(q.rules), -1)
}

func filled(n int, v int32) []int32 {
	a := make([]int32, n)
	for i := range a {
		a[i] = v
	}
	return a
}

// computeRounds computes the rounds if nothing is lost, as package fixpoint does. It reports whether
// every rule fires and every Done slot is set, also if every multicast is lost. That is what the
// check deadlock, and in part the check retire, require.
func (q *quotient) computeRounds() bool {
	if q.multicasts {
		if !q.run(true) {
			return false
		}
		q.reset()
	}
	return q.run(false)
}

// run computes the rounds with or without what multicasts bring. It reports whether every rule fires
// and every Done slot is set.
func (q *quotient) run(lost bool) bool {
	missing := make([]int32, len(q.rules))
	for i := range q.rules {
		missing[i] = q.rules[i].when.hi - q.rules[i].when.lo
	}
	queue, local := make([]int32, 0, len(q.at)), []int32(nil)
	for i := range q.members {
		enter := q.members[i].slots.lo
		q.at[enter], q.initial[enter] = 0, true
		queue = append(queue, enter)
	}
	for id, initial := range q.initial {
		if initial && q.at[id] < 0 {
			q.at[id] = 0
			queue = append(queue, int32(id))
		}
	}
	for _, a := range q.arrivals {
		if q.received[a.slot]++; q.at[a.slot] < 0 {
			q.at[a.slot] = a.round
			queue = append(queue, a.slot)
		}
	}
	wake := func(id int32) {
		for _, rule := range q.waiters[id] {
			if missing[rule]--; missing[rule] > 0 {
				continue
			}
			q.rounds[rule] = q.at[id]
			q.fired = append(q.fired, rule)
			for _, d := range q.rules[rule].do {
				if lost && d.to == casts {
					continue
				}
				for _, to := range q.list(d.sets) {
					if d.to != casts {
						q.received[to]++
					}
					switch {
					case q.at[to] >= 0:
					case d.to == folds:
						q.at[to] = q.at[id]
						local = append(local, to)
					default:
						q.at[to] = q.at[id] + 1
						queue = append(queue, to)
					}
				}
			}
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		wake(queue[0])
		for i := 0; i < len(local); i++ {
			wake(local[i])
		}
		local = local[:0]
	}
	for i := range q.members {
		for _, id := range q.list(q.members[i].done) {
			if q.at[id] < 0 {
				return false
			}
		}
	}
	return len(q.fired) == len(q.rules)
}

// reset forgets what run has computed.
func (q *quotient) reset() {
	for id := range q.at {
		q.at[id], q.received[id] = -1, 0
	}
	for rule := range q.rounds {
		q.rounds[rule] = -1
	}
	q.fired = q.fired[:0]
}

// wellformed reports whether the schedule meets these conditions: no rank puts to itself; no rank
// puts or folds what it does not hold; every signal is put once and awaited; every partial result
// is put or folded once and read; every chunk is put to a rank that wants or names it.
func (q *quotient) wellformed() bool {
	awaited, read := make([]bool, len(q.at)), make([]bool, len(q.at))
	given := filled(len(q.at), -1) // by slot: the last rule that waits for it
	for i := range q.members {
		for _, id := range q.list(q.members[i].done) {
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
		r := &q.rules[rule]
		for _, id := range q.list(r.when) {
			awaited[id], given[id] = true, rule
		}
		entered := given[m.slots.lo] == rule
		for _, d := range r.do {
			if int(d.to) == m.rank || d.input && !entered {
				return false
			}
			if d.to == folds {
				for _, id := range q.list(d.sets) {
					if awaited[id] = true; given[id] == rule {
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
			case q.wants[id] && !q.initial[id] && (n != 1 || q.at[id] < 0):
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
		done := q.returned(m)
		for id := m.chunks.lo; id < m.chunks.hi; id++ {
			if q.wants[id] && !q.initial[id] && !done[id-m.slots.lo] {
				return false
			}
		}
		for rule := m.rules.lo; rule < m.rules.hi; rule++ {
			for _, id := range q.list(q.rules[rule].when) {
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
func (q *quotient) returned(m *member) []bool {
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
	for _, id := range q.list(m.done) {
		add(id)
	}
	causes := func() {
		for ; len(todo) > 0; todo = todo[1:] {
			if id := todo[0]; q.folder[id] >= 0 && q.received[id] == 1 {
				for _, w := range q.list(q.rules[q.folder[id]].when) {
					add(w)
				}
			}
		}
	}
	causes()
	for _, x := range m.sole {
		if done[x.slot-first] {
			for _, w := range q.list(q.rules[x.rule].when) {
				add(w)
			}
		}
	}
	causes()
	missing := make([]int32, m.rules.hi-m.rules.lo)
	for i := range missing {
		when := q.rules[int(m.rules.lo)+i].when
		missing[i] = when.hi - when.lo
	}
	for i, is := range done {
		if id := first + int32(i); is || q.initial[id] {
			todo = append(todo, id)
		}
	}
	for ; len(todo) > 0; todo = todo[1:] {
		for _, rule := range q.waiters[todo[0]] {
			if missing[rule-m.rules.lo]--; missing[rule-m.rules.lo] > 0 {
				continue
			}
			for _, d := range q.rules[rule].do {
				for _, made := range q.list(d.sets) {
					if d.to == folds && !q.initial[made] {
						add(made)
					}
				}
			}
		}
	}
	return done
}

// must returns which ranks must have entered when each rule fires, by rule, and when each member
// returns. seeds are the ranks that must have entered when each member enters (see must).
func (q *quotient) must(seeds []runs) (rules, done []runs) {
	slots, reached := make([]runs, len(q.at)), make([]bool, len(q.at))
	rules = make([]runs, len(q.rules))
	visited := make([]bool, len(q.rules))
	for i := range q.members {
		m := &q.members[i]
		for id := m.slots.lo; id < m.slots.hi; id++ {
			if q.initial[id] {
				slots[id], reached[id] = seeds[i], true
			}
		}
	}
	of := func(seed runs, when run) runs {
		acc := seed
		for _, w := range q.list(when) {
			if set := slots[w]; !acc.includes(set) {
				acc = union(nil, acc, set)
			}
		}
		return acc
	}
	again := slices.Clone(q.fired)
	slices.Reverse(again)
	for len(again) > 0 {
		rule := again[len(again)-1]
		again = again[:len(again)-1]
		m := q.memberOf(rule)
		set := of(slots[m.slots.lo], q.rules[rule].when)
		if visited[rule] && slices.Equal(rules[rule], set) {
			continue
		}
		rules[rule], visited[rule] = set, true
		for _, d := range q.rules[rule].do {
			came := set
			if d.to >= 0 {
				came = q.seenFrom(set, d.to)
			}
			for i, to := range q.list(d.sets) {
				if d.to == casts {
					rank := int32(i)
					if i >= m.rank {
						rank++
					}
					came = q.seenFrom(set, rank)
				}
				switch {
				case q.initial[to]:
					continue
				case !reached[to]:
					slots[to], reached[to] = came, true
					continue
				case came.includes(slots[to]):
					continue
				}
				slots[to] = intersection(nil, slots[to], came)
				for _, w := range q.waiters[to] {
					if visited[w] {
						again = append(again, w)
					}
				}
			}
		}
	}
	for i := range q.members {
		done = append(done, of(seeds[i], q.members[i].done))
	}
	return rules, done
}

// seenFrom returns what ranks are, seen from a rank, for the member that stands for it.
func (q *quotient) seenFrom(set runs, rank int32) runs {
	if q.period == 0 || int(rank) < q.period {
		return set
	}
	n := int32(q.s.Ranks)
	return set.shifted(n-(rank-rank%int32(q.period)), n)
}

// ahead does the same as [runAhead.bound] does for all ranks. ok is false if a flag could be set
// too soon.
func (q *quotient) ahead() (ahead runAhead, ok bool) {
	var ranks []int
	for i := range q.members {
		ranks = append(ranks, q.members[i].rank)
	}
	all, flag := run{0, int32(q.s.Ranks)}, false
	ahead.goBack(ranks, all, func(seeds []runs) (before []runs, n int, ok bool) {
		rules, before := q.must(seeds)
		flag, ahead.flow = false, nil
		for _, rule := range q.fired {
			for _, d := range q.rules[rule].do {
				to := d.to
				if to == casts { // the member itself has entered
					to = rules[rule].firstMissing(0, all.hi)
				}
				if to == folds || to == all.hi || rules[rule].has(to) {
					continue
				}
				if n++; d.signal {
					flag = true
				} else if ahead.flow == nil {
					ahead.flow = &[2]int{q.memberOf(rule).rank, int(to)}
				}
			}
		}
		return before, n, true
	})
	return ahead, !flag
}

// last returns the number of rounds: see fixpoint.Result.Rounds.
func (q *quotient) last() int {
	last := int32(0)
	for i := range q.members {
		for _, id := range q.list(q.members[i].done) {
			last = max(last, q.at[id])
		}
	}
	for i := range q.rules {
		last = max(last, q.rounds[i])
		if slices.ContainsFunc(q.rules[i].do, func(d deed) bool { return d.to != folds }) {
			last = max(last, q.rounds[i]+1)
		}
	}
	return int(last)
}
