package verify

import (
	"cmp"
	"math"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/numbering"
)

// A schedule rotates if the program of rank r+1 is the program of rank r with all ranks, and all
// blocks or pieces of the vector, increased by one (see ir.Header.Rotation). Ring, linear and Bruck
// algorithms rotate. Such a schedule has P times as many slots as one rank, but it can be proved by
// examining rank 0 alone.
//
// Let σ be the shift by one. It maps rank r to r+1 modulo P, a block to the next one, a
// contribution like its block, and enter, signals and partial results to themselves. A schedule
// rotates if σ maps its rules and Done slots to themselves. By the row of the collective, σ also
// maps what ranks hold and want to itself. So σ is an automorphism. Everything that the checks
// examine is defined by the schedule alone and is unique: a least fixpoint (which slots are set,
// and in which round) or a greatest one (what must be set before a slot, see must). An automorphism
// maps a unique solution to itself. So
//
//   - slot x of rank 0 is set in round t if and only if slot σ^r(x) of rank r is;
//   - rank a must have entered before slot x of rank 0 is set if and only if rank a+r must have
//     entered before slot σ^r(x) of rank r is set.
//
// A put of x by rank 0 to rank t sets x of rank t. By rotation, the same holds t ranks further
// back, for slot σ^-t(x) of rank 0, which rank -t sets by the same rule. So the equations of rank 0
// are closed if "put x @t" is read as "set σ^-t(x) here", and if the sets of ranks that go with it,
// and the ranks in terms, are shifted by -t. This is exact: the equations of all ranks are P equal
// copies of the equations that are solved below.
//
// All questions of the checks are then asked of rank 0, and a positive answer holds for all ranks.
// This file decides only questions about slots that need no must-analysis, and reuse. In all other
// cases, and above all if there is a fault, it leaves the answer to the full checks, which can
// explain it.

// RunPrograms is [Run] for the schedule with header h and the programs that maker's functions make,
// such as Maker of a schedule.Spec. If the schedule rotates by one rank and has no fault, it is
// proved without being in memory as a whole; see [RunRotation]. Otherwise RunPrograms builds the
// schedule and proves it by [Run], in memory and time for all its programs.
//
// RunPrograms calls maker for each goroutine, and for each program that it keeps. The functions
// that maker returns may overwrite their previous program. They must return equal programs for
// equal ranks.
func RunPrograms(h ir.Header, maker func() func(rank int) ir.Program, names ...string) (*Report, error) {
	report, err := RunRotation(h, maker, names...)
	if err != nil || report != nil {
		return report, err
	}
	s := &ir.Schedule{Header: h}
	for rank := range h.Ranks {
		s.Programs = append(s.Programs, maker()(rank))
	}
	return Run(s, names...)
}

// RunRotation proves a schedule that rotates by one rank. It makes the programs of all ranks, one
// after the other, and compares each with the program of rank 0. Then it proves what rank 0 holds,
// gets and waits for. It keeps the program of rank 0, and one for each goroutine. The report is nil
// if the schedule does not rotate, if its chunks have no rotation (see ir.Header.Rotation), or if
// it has a fault, which [Run] can then explain. The error is the same as Run's.
func RunRotation(h ir.Header, maker func() func(rank int) ir.Program, names ...string) (*Report, error) {
	checks, err := selected(names)
	if err != nil {
		return nil, err
	}
	return proveRotation(h, maker, checks), nil
}

// proveRotation returns the report of a schedule that rotates and for which all checks hold. It
// returns nil if that is not the case or not known.
func proveRotation(h ir.Header, maker func() func(rank int) ir.Program, checks []Check) *Report {
	if h.Ranks < 2 || h.Ranks > ir.MaxRanks || h.Root != 0 || h.Recovers || h.Chunks > ir.MaxChunks {
		return nil
	}
	per, rotated := h.Rotation()
	if rotated == nil {
		return nil
	}
	first := maker()(0)
	s := &ir.Schedule{Header: h, Programs: make([]ir.Program, h.Ranks)}
	for rank := range s.Programs {
		s.Programs[rank].Rank = rank
	}
	s.Programs[0] = first
	if !plain(&first) || !inRange(s) {
		return nil
	}
	q := newQuotient(s, per, rotated)
	if !q.computeRounds() || !q.wellformed() || !q.once() {
		return nil
	}
	notes := make(map[string]string)
	var terms Terms
	if h.Folds() {
		var ok bool
		if terms, ok = q.terms(notes); !ok {
			return nil
		}
	}
	ahead, ok := q.ahead()
	notes[reuse.Name] = ahead.note()
	if !ok || !q.patient() || !rotates(&h, per, rotated, &first, maker) {
		return nil
	}
	report := &Report{Header: h, Cost: q.cost(), Terms: terms, Rotates: true}
	for _, c := range checks {
		res := Result{Check: c.Name}
		res.Note, res.Applies = c.scope.of(s)
		res.Note = cmp.Or(notes[c.Name], res.Note)
		report.Results = append(report.Results, res)
	}
	return report
}

// inRange reports whether the program of rank 0 is in range if each rank has as many signals and
// partial results as rank 0. Then the other programs are in range, too. All ranks are alike, so a
// put to any rank is taken as a put to rank 1, and no other rank needs slots. Therefore all ranks
// together may have more slots than a schedule that is read from a file.
func inRange(s *ir.Schedule) bool {
	p := s.Programs[0]
	to1 := p
	to1.Rules = slices.Clone(p.Rules)
	for i := range to1.Rules {
		r := &to1.Rules[i]
		r.Do = slices.Clone(r.Do)
		for j := range r.Do {
			if a := &r.Do[j]; a.Op == ir.Put {
				if a.To < 0 || int(a.To) >= s.Ranks {
					return false
				}
				a.To = 1
			}
		}
	}
	t := &ir.Schedule{Header: s.Header, Programs: slices.Clone(s.Programs)}
	t.Programs[0] = to1
	t.Programs[1].Signals, t.Programs[1].Values = p.Signals, p.Values
	return ir.Validate(t) == nil
}

// plain reports whether a program only puts and folds, without repairs and requests.
func plain(p *ir.Program) bool {
	if !p.Recovery.IsNone() || p.Requests() != nil {
		return false
	}
	for i := range p.Rules {
		if p.Rules[i].IsRepair() {
			return false
		}
		for _, a := range p.Rules[i].Do {
			if a.Op != ir.Put && a.Op != ir.Fold {
				return false
			}
		}
	}
	return true
}

// quotient holds the slots and rules of rank 0, which stand for the slots and rules of all ranks.
type quotient struct {
	s       *ir.Schedule
	p       *ir.Program
	numbers numbering.Slots
	held    ir.Chunks
	per     int // see [ir.Header.Rotation]
	rotated func(ranks, by, group int) int
	initial []bool  // by slot: it is set from the beginning
	at      []int32 // by slot: the round in which it is set, -1: never
	rounds  []int32 // by rule: the round in which it fires, -1: never
	fired   []int32 // rules in the order in which they fire
	// puts holds, by rule, the slots that its actions set here, in order. It is -1 for an operand
	// of a fold that is not its last.
	puts     [][]int32
	waiters  [][]int32 // by slot: the rules that wait for it
	received []int32   // by slot: how many puts and folds of fired rules set it
	folder   []int32   // by slot: the last rule that folds it, -1: none
}

func newQuotient(s *ir.Schedule, per int, rotated func(ranks, by, group int) int) *quotient {
	q := &quotient{s: s, p: &s.Programs[0], held: s.Held(0), per: per, rotated: rotated}
	named := slices.Clone(q.p.Done)
	for i := range q.p.Rules {
		named = append(named, q.p.Rules[i].When...)
		for _, a := range q.p.Rules[i].Do {
			named = append(named, q.here(a))
			if a.Slot.Kind() == ir.KindChunk || a.Slot.Kind() == ir.KindValue {
				named = append(named, a.Slot)
			}
		}
	}
	q.numbers = numbering.Of(named)
	n := q.numbers.Len()
	q.at, q.rounds, q.folder = filled(n, -1), filled(len(q.p.Rules), -1), filled(n, -1)
	q.initial = make([]bool, n)
	q.puts, q.waiters, q.received = make([][]int32, len(q.p.Rules)), make([][]int32, n), make([]int32, n)
	for i := range q.p.Rules {
		for _, w := range q.p.Rules[i].When {
			id := q.numbers.Index(w)
			q.waiters[id] = append(q.waiters[id], int32(i))
		}
		do := q.p.Rules[i].Do
		for j, a := range do {
			id := int32(q.numbers.Index(q.here(a)))
			if a.Op == ir.Fold {
				if j+1 < len(do) && do[j+1].Joins {
					id = -1
				} else {
					q.folder[id] = int32(i)
				}
			}
			q.puts[i] = append(q.puts[i], id)
		}
	}
	return q
}

func filled(n int, v int32) []int32 {
	a := make([]int32, n)
	for i := range a {
		a[i] = v
	}
	return a
}

// here returns the slot of rank 0 that the action of rank -To sets. For a fold it is a slot of rank
// 0 itself.
func (q *quotient) here(a ir.Action) ir.Slot {
	s := a.Sets()
	if s.Kind() != ir.KindChunk {
		return s
	}
	return ir.Chunk(q.back(s.Index(), a.To))
}

// back returns the chunk that chunk k becomes if all ranks move back by by.
func (q *quotient) back(k int, by int32) int {
	ranks := q.s.Ranks
	return q.rotated(ranks, (ranks-int(by))%ranks, k/q.per)*q.per + k%q.per
}

// computeRounds computes the rounds, as package fixpoint does. It reports whether every rule fires
// and every Done slot is set. That is what the check deadlock, and in part the check retire,
// require.
func (q *quotient) computeRounds() bool {
	missing := make([]int, len(q.p.Rules))
	for i := range q.p.Rules {
		missing[i] = len(q.p.Rules[i].When)
	}
	queue, local := []int32{0}, []int32(nil)
	q.at[0], q.initial[0] = 0, true
	chunks, _, _ := q.numbers.Counts()
	for id := 1; id <= chunks; id++ {
		if q.held.Has(q.numbers.At(id).Index()) {
			q.at[id], q.initial[id] = 0, true
			queue = append(queue, int32(id))
		}
	}
	wake := func(id int32) {
		for _, rule := range q.waiters[id] {
			if missing[rule]--; missing[rule] > 0 {
				continue
			}
			q.rounds[rule] = q.at[id]
			q.fired = append(q.fired, rule)
			for i, to := range q.puts[rule] {
				if to < 0 {
					continue
				}
				q.received[to]++
				switch fold := q.p.Rules[rule].Do[i].Op == ir.Fold; {
				case q.at[to] >= 0:
				case fold:
					q.at[to] = q.at[id]
					local = append(local, to)
				default:
					q.at[to] = q.at[id] + 1
					queue = append(queue, to)
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
	for _, slot := range q.p.Done {
		if q.at[q.numbers.Index(slot)] < 0 {
			return false
		}
	}
	return len(q.fired) == len(q.p.Rules)
}

// wellformed reports whether the schedule meets these conditions: no rank puts to itself; no rank
// puts or folds what it does not hold; every signal is put once and awaited; every partial result
// is put or folded once and read; every chunk is put to a rank that wants or names it.
func (q *quotient) wellformed() bool {
	awaited, read := make([]bool, q.numbers.Len()), make([]bool, q.numbers.Len())
	wait := func(slots []ir.Slot) {
		for _, slot := range slots {
			awaited[q.numbers.Index(slot)] = true
		}
	}
	given := filled(q.numbers.Len(), -1) // by slot: the last rule that waits for it
	wait(q.p.Done)
	for i := range q.p.Rules {
		r := &q.p.Rules[i]
		wait(r.When)
		for _, w := range r.When {
			given[q.numbers.Index(w)] = int32(i)
		}
		entered := contains(r.When, ir.Enter)
		for _, a := range r.Do {
			if a.Op == ir.Put && a.To == 0 || a.Op == ir.Fold && contains(r.When, a.As) {
				return false
			}
			if a.Op == ir.Fold {
				awaited[q.numbers.Index(a.As)] = true
			}
			switch a.Slot.Kind() {
			case ir.KindSignal:
				continue
			case ir.KindInput:
				if !entered {
					return false
				}
				continue
			}
			id := q.numbers.Index(a.Slot)
			awaited[id], read[id] = true, true
			switch holds := a.Slot.Kind() == ir.KindChunk && q.held.Has(a.Slot.Index()); {
			case !holds && given[id] != int32(i):
				return false // it may be implied
			case holds && !entered && q.s.Folds():
				return false
			}
		}
	}
	for j := range q.p.Signals {
		if id := q.numbers.Index(ir.Signal(j)); id < 0 || q.received[id] != 1 || !awaited[id] {
			return false
		}
	}
	for j := range q.p.Values {
		if id := q.numbers.Index(ir.Value(j)); id < 0 || q.received[id] != 1 || !read[id] {
			return false
		}
	}
	wanted := q.s.Wanted(0)
	chunks, _, _ := q.numbers.Counts()
	for id := 1; id <= chunks; id++ {
		if k := q.numbers.At(id).Index(); q.received[id] > 0 && !awaited[id] && !wanted.Has(k) && !q.held.Has(k) {
			return false
		}
	}
	return true
}

// once reports whether no chunk comes twice, or to a rank that holds it, and all wanted chunks
// come.
func (q *quotient) once() bool {
	chunks, _, _ := q.numbers.Counts()
	for id := 1; id <= chunks; id++ {
		if n := q.received[id]; n > 1 || n == 1 && q.held.Has(q.numbers.At(id).Index()) {
			return false
		}
	}
	lacks := (&subject{s: q.s}).lacks(0)
	for c, ok := lacks.chunk(); ok; c, ok = lacks.chunk() {
		if id := q.numbers.Index(c); id < 0 || q.received[id] != 1 || q.at[id] < 0 {
			return false
		}
	}
	return true
}

// patient reports whether Done implies all slots that the rank wants and for which its rules wait.
func (q *quotient) patient() bool {
	done := q.returned()
	lacks := (&subject{s: q.s}).lacks(0)
	for c, ok := lacks.chunk(); ok; c, ok = lacks.chunk() {
		if !done[q.numbers.Index(c)] {
			return false
		}
	}
	for i := range q.p.Rules {
		for _, w := range q.p.Rules[i].When {
			if !done[q.numbers.Index(w)] && !(w.Kind() == ir.KindChunk && q.held.Has(w.Index())) {
				return false
			}
		}
	}
	return true
}

// returned returns which slots are set when the rank returns, as far as its own program and the
// terms show: see [stamps.returned]. The folds must be proved already.
func (q *quotient) returned() []bool {
	done := make([]bool, q.numbers.Len())
	var todo []int32
	add := func(slot ir.Slot) {
		if id := int32(q.numbers.Index(slot)); !done[id] {
			done[id] = true
			todo = append(todo, id)
		}
	}
	add(ir.Enter)
	for _, slot := range q.p.Done {
		add(slot)
	}
	causes := func() {
		for ; len(todo) > 0; todo = todo[1:] {
			if id := todo[0]; q.folder[id] >= 0 && q.received[id] == 1 {
				for _, w := range q.p.Rules[q.folder[id]].When {
					add(w)
				}
			}
		}
	}
	causes()
	if q.s.Folds() {
		for x, rule := range soleReaders(q.p) {
			if id := q.numbers.Index(ir.Chunk(x.Index())); id >= 0 && done[id] {
				for _, w := range q.p.Rules[rule].When {
					add(w)
				}
			}
		}
		causes()
	}
	missing := make([]int, len(q.p.Rules))
	for i := range q.p.Rules {
		missing[i] = len(q.p.Rules[i].When)
	}
	for id, is := range done {
		if is || q.initial[id] {
			todo = append(todo, int32(id))
		}
	}
	for ; len(todo) > 0; todo = todo[1:] {
		for _, rule := range q.waiters[todo[0]] {
			if missing[rule]--; missing[rule] > 0 {
				continue
			}
			for i, made := range q.puts[rule] {
				if made >= 0 && q.p.Rules[rule].Do[i].Op == ir.Fold && !done[made] && !q.initial[made] {
					done[made] = true
					todo = append(todo, made)
				}
			}
		}
	}
	return done
}

// must returns which ranks must have entered when rank 0 fires each rule, by rule, and when it
// returns. seed is the set of ranks that must have entered when rank 0 enters (see must).
func (q *quotient) must(seed runs) (rules []runs, done runs) {
	slots, reached := make([]runs, q.numbers.Len()), make([]bool, q.numbers.Len())
	rules = make([]runs, len(q.p.Rules))
	visited := make([]bool, len(q.p.Rules))
	for id, initial := range q.initial {
		if initial {
			slots[id], reached[id] = seed, true
		}
	}
	of := func(when []ir.Slot) runs {
		acc := seed
		for _, w := range when {
			if set := slots[q.numbers.Index(w)]; !acc.includes(set) {
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
		set := of(q.p.Rules[rule].When)
		if visited[rule] && slices.Equal(rules[rule], set) {
			continue
		}
		rules[rule], visited[rule] = set, true
		for i, to := range q.puts[rule] {
			if to < 0 || q.initial[to] {
				continue
			}
			came := set
			if a := q.p.Rules[rule].Do[i]; a.Op == ir.Put {
				came = set.shifted(int32(q.s.Ranks)-a.To, int32(q.s.Ranks))
			}
			switch {
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
	return rules, of(q.p.Done)
}

// shifted returns the numbers of a, each increased by by, modulo n; 0 < by < n.
func (a runs) shifted(by, n int32) runs {
	var low, high runs // numbers that wrap around, and the others
	for _, r := range a {
		lo, hi := int64(r.lo)+int64(by), int64(r.hi)+int64(by)
		if lo < int64(n) {
			high = high.push(run{int32(lo), int32(min(hi, int64(n)))})
		}
		if hi > int64(n) {
			low = low.push(run{int32(max(lo, int64(n)) - int64(n)), int32(hi - int64(n))})
		}
	}
	for _, r := range high {
		low = low.push(r)
	}
	return low
}

// ahead does the same as [runAhead.bound] does for all ranks. ok is false if a flag could be set
// too soon.
func (q *quotient) ahead() (ahead runAhead, ok bool) {
	seed := runs{{0, 1}}
	all := run{0, int32(q.s.Ranks)}
	free, apart := math.MaxInt, math.MaxInt
	for back := 0; ; back++ {
		rules, done := q.must(seed)
		n, flag := 0, false
		var flow *[2]int
		for _, rule := range q.fired {
			for _, a := range q.p.Rules[rule].Do {
				if a.Op != ir.Put || rules[rule].has(a.To) {
					continue
				}
				if n++; a.Slot.Kind() == ir.KindSignal {
					flag = true
				} else if flow == nil {
					flow = &[2]int{0, int(a.To)}
				}
			}
		}
		ahead.writes = fewer(&free, n, back, ahead.writes)
		ahead.enters = fewer(&apart, seed.missing(all), back, ahead.enters)
		next := union(nil, done, runs{{0, 1}})
		if free == 0 && apart == 0 || back == maxAhead || back > 0 && slices.Equal(seed, next) {
			if behind := seed.firstMissing(0, all.hi); behind < all.hi {
				ahead.apart = &[2]int{0, int(behind)}
			}
			ahead.flow = flow
			return ahead, !flag
		}
		seed = next
	}
}

// cost returns the cost of all ranks, see costOf.
func (q *quotient) cost() Cost {
	var c Cost
	own, peers := tally{}, make(map[int32]bool)
	for _, slot := range q.p.Done {
		c.Rounds = max(c.Rounds, int(q.at[q.numbers.Index(slot)]))
	}
	for i := range q.p.Rules {
		c.Rounds = max(c.Rounds, int(q.rounds[i]))
		for _, a := range q.p.Rules[i].Do {
			c.count(a)
			own.send(a)
			if a.Op == ir.Put {
				c.Rounds = max(c.Rounds, int(q.rounds[i])+1)
				peers[a.To] = true
			}
		}
	}
	for _, n := range []*int{&c.Puts, &c.Chunks, &c.Signals} {
		*n *= q.s.Ranks
	}
	c.Messages = c.Puts + c.Signals
	c.Bytes = inBlocks(q.s, c.Chunks)
	c.MaxOut, c.MaxIn = len(peers), len(peers)
	return c
}

// rotates reports whether the program of each rank is first, shifted. It uses all processors,
// because a ring among 65,536 ranks has 2^32 rules.
func rotates(h *ir.Header, per int, rotated func(ranks, by, group int) int, first *ir.Program, maker func() func(rank int) ir.Program) bool {
	proto := comparer{ranks: int32(h.Ranks), per: per, rotated: rotated}
	if proto.inOrder(h.Chunks / per) {
		proto.chunks = ir.Slot(h.Chunks)
	}
	var next atomic.Int64 // the last rank that a worker has taken
	var differ atomic.Bool
	var workers sync.WaitGroup
	for range min(goruntime.GOMAXPROCS(0), h.Ranks-1) {
		workers.Go(func() {
			c, program := proto, maker()
			for !differ.Load() {
				rank := int(next.Add(1))
				if rank >= h.Ranks {
					return
				}
				p := program(rank)
				if c.by, c.last = rank, [8]stretch{}; !c.same(first, &p) {
					differ.Store(true)
				}
			}
		})
	}
	workers.Wait()
	return !differ.Load()
}

// comparer compares a program with the program of the rank that is by further.
type comparer struct {
	ranks   int32
	per     int // chunks of a group: see [ir.Header.Rotation]
	rotated func(ranks, by, group int) int
	// chunks is the number of chunks of all groups if each group becomes the one by further, modulo
	// their number. Otherwise it is 0.
	chunks ir.Slot
	by     int
	last   [8]stretch // by kind of slot: the stretch that was used last, for the current by
	a, b   []ir.Slot  // scratch
}

// inOrder reports whether each of groups groups becomes the next one if the ranks move by one. Then
// a group becomes the one by further if the ranks move by by.
func (c *comparer) inOrder(groups int) bool {
	if groups != int(c.ranks) {
		return false
	}
	for b := range groups {
		if c.rotated(groups, 1, b) != (b+1)%groups {
			return false
		}
	}
	return true
}

func (c *comparer) same(p, q *ir.Program) bool {
	if q.Rank != p.Rank+c.by || q.Signals != p.Signals || q.Values != p.Values || len(q.Rules) != len(p.Rules) || !q.Recovery.IsNone() || !c.slots(p.Done, q.Done) {
		return false
	}
	rules := q.Rules[:len(p.Rules)]
	for i := range p.Rules {
		r, s := &p.Rules[i], &rules[i]
		if s.IsRepair() || s.After != 0 || len(s.Do) != len(r.Do) || len(s.When) != len(r.When) {
			return false
		}
		if len(r.When) == 1 && len(r.Do) == 1 { // the rules of a ring: there may be 2^32 of them
			w, x, y := r.When[0], &r.Do[0], &s.Do[0]
			if s.When[0] != c.one(w) || y.Slot != c.one(x.Slot) || y.To != c.to(x) || y.Op != x.Op || y.Joins != x.Joins || y.As != c.one(x.As) {
				return false
			}
			continue
		}
		if !c.slots(r.When, s.When) {
			return false
		}
		if !c.actions(r.Do, s.Do) && !c.messages(r.Do, s.Do) {
			return false
		}
	}
	return true
}

// to returns the rank that the destination of an action becomes.
func (c *comparer) to(a *ir.Action) int32 {
	rank := a.To
	if a.Op != ir.Put {
		return rank
	}
	if rank += int32(c.by); rank >= c.ranks {
		rank -= c.ranks
	}
	return rank
}

// actions compares two lists of actions of the same length in order.
func (c *comparer) actions(m, n []ir.Action) bool {
	n = n[:len(m)]
	for i := range m {
		a, b := &m[i], &n[i]
		if b.Slot != c.one(a.Slot) || b.To != c.to(a) || b.Op != a.Op || b.Joins != a.Joins || b.As != c.one(a.As) {
			return false
		}
	}
	return true
}

// messages compares two lists of actions of the same length. In a message, chunks that keep their
// names may be in any order.
func (c *comparer) messages(m, n []ir.Action) bool {
	for at := 0; at < len(m); {
		message := ir.MessageOf(m[at:])
		if !c.message(message, n[at:at+len(message)]) {
			return false
		}
		at += len(message)
	}
	return true
}

func (c *comparer) message(m, n []ir.Action) bool {
	if m[0].Op != ir.Put {
		return c.actions(m, n)
	}
	to := c.to(&m[0])
	c.a, c.b = c.a[:0], c.b[:0]
	for i := range m {
		if n[i].Op != ir.Put || n[i].To != to || n[i].Joins != m[i].Joins || m[i].As != ir.None || n[i].As != ir.None {
			return false
		}
		c.a, c.b = append(c.a, m[i].Slot), append(c.b, n[i].Slot)
	}
	return c.slots(c.a, c.b)
}

// slots compares two lists in which the same slots may be in any order. Two ascending lists differ
// at most in where they start. Other lists are sorted first.
func (c *comparer) slots(a, b []ir.Slot) bool {
	if len(a) != len(b) {
		return false
	}
	for len(a) > 0 && a[0].Kind() != ir.KindChunk && a[0] == b[0] { // usually enter
		a, b = a[1:], b[1:]
	}
	switch len(a) {
	case 0:
		return true
	case 1:
		return c.one(a[0]) == b[0]
	}
	start := 0
	if first := c.one(a[0]); first != b[0] {
		if start = slices.Index(b, first); start < 0 {
			return false
		}
	}
	most := len(b) - start
	if c.inStep(a[:most], b[start:]) && c.inStep(a[most:], b[:start]) {
		return true
	}
	shifted := make([]ir.Slot, len(a))
	for i, slot := range a {
		shifted[i] = c.one(slot)
	}
	sorted := slices.Clone(b)
	slices.Sort(shifted)
	slices.Sort(sorted)
	return slices.Equal(shifted, sorted)
}

// inStep compares two lists of the same length in order.
func (c *comparer) inStep(a, b []ir.Slot) bool {
	b = b[:len(a)]
	for i, slot := range a {
		if b[i] != c.one(slot) {
			return false
		}
	}
	return true
}

// stretch is the n slots from lo on. Slot x of them becomes x + shift, with wrap-around as usual
// for the type.
type stretch struct{ lo, n, shift ir.Slot }

// kindShift is the lowest bit of a slot's kind: [ir.MaxIndex] is the largest index below it.
const kindShift = 29

// stretch returns a stretch with the given slot.
func (c *comparer) stretch(slot ir.Slot) stretch {
	first := slot &^ ir.MaxIndex
	switch k := slot - first; {
	case slot.Kind() != ir.KindChunk && slot.Kind() != ir.KindInput:
		return stretch{first, 1 << kindShift, 0}
	case k >= c.chunks: // rotated says what each of them becomes
		group := c.rotated(int(c.ranks), c.by, slot.Index()/c.per)
		return stretch{slot, 1, first + ir.Slot(group*c.per+slot.Index()%c.per) - slot}
	case k < c.chunks-c.shift():
		return stretch{first, c.chunks - c.shift(), c.shift()}
	}
	return stretch{first + c.chunks - c.shift(), c.shift(), c.shift() - c.chunks}
}

// shift returns how many places the chunks of a group move.
func (c *comparer) shift() ir.Slot { return ir.Slot(c.by * c.per) }

// one returns the slot that a slot becomes.
func (c *comparer) one(slot ir.Slot) ir.Slot {
	s := &c.last[slot>>kindShift]
	if slot-s.lo >= s.n {
		c.restretch(slot)
	}
	return slot + s.shift
}

func (c *comparer) restretch(slot ir.Slot) { c.last[slot>>kindShift] = c.stretch(slot) }
