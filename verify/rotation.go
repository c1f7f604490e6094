package verify

import (
	"math"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/numbering"
)

// A schedule rotates if the program of rank r+1 is that of rank r with all ranks, and all blocks,
// one further (see ir.Collective): ring, linear and Bruck algorithms do. Such a schedule has P times
// as many slots as one rank has, and is proved by looking at rank 0 alone.
//
// Let σ be the shift by one: it takes rank r to r+1, modulo P, block b to the row's next one, enter
// and signals to themselves. That a schedule rotates says that σ takes its rules, its done slots and,
// by the row, what ranks hold and want, to themselves: σ is an automorphism. Everything that the
// checks look at is defined by the schedule alone, and is unique: a least fixpoint (which slots are
// set, and in which round) or a greatest one (what must be set before a slot, see must). An
// automorphism takes a unique solution to itself. So
//
//   - slot x of rank 0 is set in round t if and only if slot σ^r(x) of rank r is;
//   - if rank a must have entered before slot x of rank 0 is set, then rank a+r before slot σ^r(x)
//     of rank r is, and the other way round.
//
// A put of x by rank 0 to rank t sets x of rank t. What is true of that is true, t ranks further
// back, of slot σ^-t(x) of rank 0, which rank -t sets by the same rule. So the equations of rank 0 are
// closed if "put x @t" is read as "set σ^-t(x) here", and if the sets of ranks that travel with it
// are shifted by -t. This is exact: what is solved below are the equations of all ranks, one of P
// equal copies of each.
//
// All that the checks ask is then asked of rank 0, and holds of all ranks if it does of that one.
// Only what is asked without must-analysis of slots, and reuse, is decided here. Whatever else is
// the case, a fault above all, is left to the full checks, which tell it.

// RunPrograms is [Run] for the schedule with header h and the programs that maker's functions make,
// such as Maker of a schedule.Spec. If the schedule rotates by one rank, and nothing is wrong with
// it, it is proved without ever being in memory as a whole: [RunRotation] says how. Otherwise it is
// put together and proved by [Run], in memory and time for all its programs.
//
// maker is called for each goroutine, and for each program that is kept. The functions that it
// returns may make a program in the memory of the one before. They return equal programs for equal
// ranks.
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

// RunRotation proves a schedule that rotates by one rank: it makes the programs of all ranks, one
// after the other, and compares each with that of rank 0; then it proves what rank 0 holds, gets and
// waits for. It keeps the program of rank 0, and one for each goroutine. The report is nil if the
// schedule does not rotate, if its collective has no row with Rotated, or if something is wrong with
// it: [Run] then tells what. The error is that of Run.
func RunRotation(h ir.Header, maker func() func(rank int) ir.Program, names ...string) (*Report, error) {
	checks, err := selected(names)
	if err != nil {
		return nil, err
	}
	return proveRotation(h, maker, checks), nil
}

// proveRotation returns the report of a schedule that rotates and of which all checks hold, nil if
// this is not the case or is not known.
func proveRotation(h ir.Header, maker func() func(rank int) ir.Program, checks []Check) *Report {
	row := h.Row()
	if row == nil || row.Rotated == nil || h.Root != 0 || h.Recovers || h.Ranks < 2 || h.Ranks > ir.MaxRanks {
		return nil
	}
	first := maker()(0)
	// The other programs are in range if this one is. They have as many signals.
	s := &ir.Schedule{Header: h, Programs: make([]ir.Program, h.Ranks)}
	for rank := range s.Programs {
		s.Programs[rank] = ir.Program{Rank: rank, Signals: first.Signals}
	}
	s.Programs[0] = first
	if ir.Validate(s) != nil || !plain(&first) {
		return nil
	}
	q := newQuotient(s)
	ahead, ok := runAhead{}, q.run() && q.wellformed() && q.once() && q.patient()
	if ok {
		ahead, ok = q.ahead()
	}
	if !ok || !rotates(&h, row.Rotated, &first, maker) {
		return nil
	}
	report := &Report{Header: h, Cost: q.cost(), Rotates: true}
	for _, c := range checks {
		res := Result{Check: c.Name}
		if res.Note, res.Applies = c.scope.of(s); c.Name == reuse.Name {
			res.Note = ahead.note()
		}
		report.Results = append(report.Results, res)
	}
	return report
}

// plain reports whether a program only puts, and never makes or answers repairs.
func plain(p *ir.Program) bool {
	if !p.Recovery.IsNone() || p.Requests() != nil {
		return false
	}
	for i := range p.Rules {
		if p.Rules[i].IsRepair() {
			return false
		}
		for _, a := range p.Rules[i].Do {
			if a.Op != ir.Put {
				return false
			}
		}
	}
	return true
}

// quotient is the slots and rules of rank 0, for those of all ranks.
type quotient struct {
	s        *ir.Schedule
	p        *ir.Program
	numbers  numbering.Slots
	held     ir.Chunks
	at       []int32   // by slot: the round in which it is set, -1: never
	rounds   []int32   // by rule: the round in which it fires, -1: never
	fired    []int32   // rules in the order in which they fire
	puts     [][]int32 // by rule: the slots that its puts set here, in their order
	waiters  [][]int32 // by slot: the rules that wait for it
	received []int32   // by slot: how many puts of fired rules set it
}

func newQuotient(s *ir.Schedule) *quotient {
	q := &quotient{s: s, p: &s.Programs[0], held: s.Held(0)}
	named := slices.Clone(q.p.Done)
	for i := range q.p.Rules {
		named = append(named, q.p.Rules[i].When...)
		for _, a := range q.p.Rules[i].Do {
			named = append(named, q.here(a))
			if a.Slot.Kind() == ir.KindChunk {
				named = append(named, a.Slot)
			}
		}
	}
	q.numbers = numbering.Of(named)
	n := q.numbers.Len()
	q.at, q.rounds = filled(n, -1), filled(len(q.p.Rules), -1)
	q.puts, q.waiters, q.received = make([][]int32, len(q.p.Rules)), make([][]int32, n), make([]int32, n)
	for i := range q.p.Rules {
		for _, w := range q.p.Rules[i].When {
			id := q.numbers.Index(w)
			q.waiters[id] = append(q.waiters[id], int32(i))
		}
		for _, a := range q.p.Rules[i].Do {
			q.puts[i] = append(q.puts[i], int32(q.numbers.Index(q.here(a))))
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

// here returns the slot of rank 0 that the action of rank -To sets.
func (q *quotient) here(a ir.Action) ir.Slot {
	if a.Slot.Kind() != ir.KindChunk {
		return a.Slot
	}
	ranks, per := q.s.Ranks, q.held.Per
	k := a.Slot.Index()
	return ir.Chunk(q.s.Row().Rotated(ranks, (ranks-int(a.To))%ranks, k/per)*per + k%per)
}

// run finds the rounds, as package fixpoint does. It reports whether every rule fires and every done
// slot is set, which is what checks deadlock and, of this part, retire want.
func (q *quotient) run() bool {
	missing := make([]int, len(q.p.Rules))
	for i := range q.p.Rules {
		missing[i] = len(q.p.Rules[i].When)
	}
	queue := []int32{0}
	q.at[0] = 0
	chunks, _, _ := q.numbers.Counts()
	for id := 1; id <= chunks; id++ {
		if q.held.Has(q.numbers.At(id).Index()) {
			q.at[id] = 0
			queue = append(queue, int32(id))
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		id := queue[0]
		for _, rule := range q.waiters[id] {
			if missing[rule]--; missing[rule] > 0 {
				continue
			}
			q.rounds[rule] = q.at[id]
			q.fired = append(q.fired, rule)
			for _, to := range q.puts[rule] {
				q.received[to]++
				if q.at[to] < 0 {
					q.at[to] = q.at[id] + 1
					queue = append(queue, to)
				}
			}
		}
	}
	for _, slot := range q.p.Done {
		if q.at[q.numbers.Index(slot)] < 0 {
			return false
		}
	}
	return len(q.fired) == len(q.p.Rules)
}

// wellformed reports whether nothing is put to oneself or without being held, every signal is put
// once and awaited, and every chunk is put to a rank that wants or names it.
func (q *quotient) wellformed() bool {
	awaited := make([]bool, q.numbers.Len())
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
		for _, a := range r.Do {
			if a.To == 0 {
				return false
			}
			if a.Slot.Kind() != ir.KindChunk {
				continue
			}
			id := q.numbers.Index(a.Slot)
			awaited[id] = true
			if given[id] != int32(i) && !q.held.Has(a.Slot.Index()) {
				return false // perhaps it is implied
			}
		}
	}
	for j := range q.p.Signals {
		if id := q.numbers.Index(ir.Signal(j)); id < 0 || q.received[id] != 1 || !awaited[id] {
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

// once reports whether no chunk comes twice, or to who holds it, and all come that are wanted.
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

// patient reports whether done has everything that the rank wants and that its rules wait for.
func (q *quotient) patient() bool {
	done := make([]bool, q.numbers.Len())
	done[0] = true
	for _, slot := range q.p.Done {
		done[q.numbers.Index(slot)] = true
	}
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

// must returns, by rule, which ranks must have entered when rank 0 fires it, and likewise when it
// returns, if seed must have when it enters (see must).
func (q *quotient) must(seed runs) (rules []runs, done runs) {
	slots, reached := make([]runs, q.numbers.Len()), make([]bool, q.numbers.Len())
	rules = make([]runs, len(q.p.Rules))
	visited := make([]bool, len(q.p.Rules))
	for id, at := range q.at {
		if at == 0 {
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
			if q.at[to] == 0 {
				continue
			}
			came := set.shifted(int32(q.s.Ranks)-q.p.Rules[rule].Do[i].To, int32(q.s.Ranks))
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

// shifted returns the numbers of a, each by more, modulo n; 0 < by < n.
func (a runs) shifted(by, n int32) runs {
	var low, high runs // those that wrap around, and the others
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

// ahead does what [runAhead.look] does. ok is false if a flag could be set too soon.
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
				if rules[rule].has(a.To) {
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

// cost is that of all ranks, see costOf.
func (q *quotient) cost() Cost {
	var c Cost
	own, peers := tally{}, make(map[int32]bool)
	for _, slot := range q.p.Done {
		c.Rounds = max(c.Rounds, int(q.at[q.numbers.Index(slot)]))
	}
	for i := range q.p.Rules {
		if len(q.p.Rules[i].Do) > 0 {
			c.Rounds = max(c.Rounds, int(q.rounds[i])+1)
		}
		for _, a := range q.p.Rules[i].Do {
			c.count(a)
			own.send(a)
			peers[a.To] = true
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

// rotates reports whether the program of each rank is first, shifted. It goes by all processors:
// a ring among 65,536 ranks has 2^32 rules.
func rotates(h *ir.Header, rotated func(ranks, by, block int) int, first *ir.Program, maker func() func(rank int) ir.Program) bool {
	proto := comparer{ranks: int32(h.Ranks), per: h.BlockChunks(), rotated: rotated}
	if proto.inOrder(h.Blocks()) {
		proto.chunks = ir.Slot(h.Chunks)
	}
	var next atomic.Int64 // the last rank that somebody has taken
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
				if c.by, c.last = rank, (stretch{}); !c.same(first, &p) {
					differ.Store(true)
				}
			}
		})
	}
	workers.Wait()
	return !differ.Load()
}

// comparer compares a program with one of a rank that lies by further.
type comparer struct {
	ranks   int32
	per     int // chunks a block
	rotated func(ranks, by, block int) int
	chunks  ir.Slot // of all blocks, if each block becomes the one by further, modulo their number; else 0
	by      int
	last    stretch   // the one that was used last, with by
	a, b    []ir.Slot // scratch
}

// inOrder reports whether each of so many blocks becomes the next one if the ranks move by one: then
// it becomes the one by further if they move by by.
func (c *comparer) inOrder(blocks int) bool {
	if blocks != int(c.ranks) {
		return false
	}
	for b := range blocks {
		if c.rotated(blocks, 1, b) != (b+1)%blocks {
			return false
		}
	}
	return true
}

func (c *comparer) same(p, q *ir.Program) bool {
	if q.Rank != p.Rank+c.by || q.Signals != p.Signals || len(q.Rules) != len(p.Rules) || !q.Recovery.IsNone() || !c.slots(p.Done, q.Done) {
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
			if w-c.last.lo >= c.last.n {
				c.last = c.stretch(w)
			}
			came := s.When[0] == w+c.last.shift
			if x.Slot-c.last.lo >= c.last.n {
				c.last = c.stretch(x.Slot)
			}
			if !came || y.Slot != x.Slot+c.last.shift || y.To != c.to(x.To) || y.Op != ir.Put || y.Joins != x.Joins {
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

// to returns the rank that a put to the given one becomes.
func (c *comparer) to(rank int32) int32 {
	if rank += int32(c.by); rank >= c.ranks {
		rank -= c.ranks
	}
	return rank
}

// actions compares lists of actions of the same length, in their order.
func (c *comparer) actions(m, n []ir.Action) bool {
	s := c.last
	n = n[:len(m)]
	was, to := int32(-1), int32(-1)
	for i := range m {
		a, b := &m[i], &n[i]
		if a.To != was {
			was, to = a.To, c.to(a.To)
		}
		if a.Slot-s.lo >= s.n {
			s = c.stretch(a.Slot)
		}
		if b.Slot != a.Slot+s.shift || b.To != to || b.Op != ir.Put || b.Joins != a.Joins {
			return false
		}
	}
	c.last = s
	return true
}

// messages compares lists of actions of the same length, in whose messages slots may stand in any
// order.
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
	to := c.to(m[0].To)
	c.a, c.b = c.a[:0], c.b[:0]
	for i := range m {
		if n[i].Op != ir.Put || n[i].To != to || n[i].Joins != m[i].Joins {
			return false
		}
		c.a, c.b = append(c.a, m[i].Slot), append(c.b, n[i].Slot)
	}
	return c.slots(c.a, c.b)
}

// slots compares two lists in which the same slots may stand in any order. Ascending lists differ,
// if at all, in where they start; others are sorted.
func (c *comparer) slots(a, b []ir.Slot) bool {
	if len(a) != len(b) {
		return false
	}
	for len(a) > 0 && a[0].Kind() != ir.KindChunk && a[0] == b[0] { // enter, as a rule
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

// inStep compares two lists of the same length in their order.
func (c *comparer) inStep(a, b []ir.Slot) bool {
	s := c.last
	b = b[:len(a)]
	for i, slot := range a {
		if slot-s.lo >= s.n {
			s = c.stretch(slot)
		}
		if b[i] != slot+s.shift {
			return false
		}
	}
	c.last = s
	return true
}

// stretch is the n slots from lo on. Slot x of them becomes x + shift; these wrap around like all
// numbers of their type.
type stretch struct{ lo, n, shift ir.Slot }

// stretch returns a stretch with the given slot.
func (c *comparer) stretch(slot ir.Slot) stretch {
	first := ir.Chunk(0)
	switch k := slot - first; {
	case slot.Kind() != ir.KindChunk:
		return stretch{slot, 1, 0}
	case k >= c.chunks: // they become what rotated says, each by itself
		block := c.rotated(int(c.ranks), c.by, slot.Index()/c.per)
		return stretch{slot, 1, ir.Chunk(block*c.per+slot.Index()%c.per) - slot}
	case k < c.chunks-c.shift():
		return stretch{first, c.chunks - c.shift(), c.shift()}
	}
	return stretch{first + c.chunks - c.shift(), c.shift(), c.shift() - c.chunks}
}

// shift returns by how many chunks those of a block move.
func (c *comparer) shift() ir.Slot { return ir.Slot(c.by * c.per) }

func (c *comparer) one(slot ir.Slot) ir.Slot {
	if slot-c.last.lo >= c.last.n {
		c.last = c.stretch(slot)
	}
	return slot + c.last.shift
}
