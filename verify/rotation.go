package verify

import (
	"slices"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/internal/ir/numbering"
	"github.com/schedgen/schedgen/ir"
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
// copies of the equations that are solved below. A multicast is a put to each other rank, but one
// that may be lost.
//
// The same holds for a shift by k, where k divides P: if the program of rank r+k is the program of
// rank r, moved on, then ranks 0 … k-1 stand for all. So it is for hosts of k ranks each, whose
// masters rotate, and for algorithms in which pairs of ranks do. The least such k is the period. A
// put to rank t sets a slot of member t modulo k, shifted by -(t - t modulo k). Schedules that fold
// are proved only if their period is 1.
//
// Where only the folds of partial results do not rotate, the same holds for the programs without
// them (see bare.go).
//
// All questions of the checks are then asked of the members, and a positive answer holds for all ranks.
// This file decides only questions about slots that need no must-analysis, and reuse. In all other
// cases, and above all if there is a fault, it leaves the answer to the full checks, which can
// explain it.

// proveRotation returns the report of a schedule that rotates, or whose bare programs rotate (see
// bare.go), and for which all checks hold. It makes the programs of all ranks, one after the other,
// and compares each with the program of a member. It keeps the programs of the members, and one for
// each goroutine. It returns nil if the schedule does not rotate, if its chunks have no rotation (see
// ir.Header.Rotation), or if it has a fault.
func proveRotation(h ir.Header, maker func() func(rank int) ir.Program, checks []Check) *Report {
	if report := proveTurns(h, maker, nil, checks); report != nil {
		return report
	}
	if bare := newBareForm(&h, maker); bare != nil {
		return proveTurns(h, bare.programs, bare, checks)
	}
	return nil
}

// proveTurns proves a schedule by programs that rotate: its own, or bare ones.
func proveTurns(h ir.Header, maker func() func(rank int) ir.Program, bare *bareForm, checks []Check) *Report {
	q := newRotation(h, maker)
	if q == nil || !q.computeRounds() || !q.wellformed() || !q.once() {
		return nil
	}
	var v *values
	var o *overlap
	if h.Folds() {
		known := q.typed()
		if known {
			o, known = q.overlap()
		}
		if known && bare == nil {
			v = q.values()
			known = v != nil
		}
		if !known {
			return nil
		}
	}
	if !q.rotates(&h, maker) {
		return nil
	}
	if bare != nil {
		if v = bare.values(); v == nil {
			return nil
		}
	}
	report := q.report(checks, v, o)
	if report != nil {
		report.Cost, report.Period, report.FoldsApart = q.cost(), q.period, bare != nil
	}
	return report
}

// mayRotate reports whether a few ranks do what the members do, so that a schedule probably rotates.
// In a schedule that folds, turns has compared only puts.
func mayRotate(h ir.Header, maker func() func(rank int) ir.Program) bool {
	q := newRotation(h, maker)
	if q == nil || !h.Folds() {
		return q != nil
	}
	c := newComparer(&h, q.per, q.rotated)
	return c.alike(0, 1, maker) && c.alike(0, h.Ranks-1, maker)
}

// newRotation returns the equations of the members of a schedule that rotates, or nil if the
// programs of a few ranks show that it does not, or that it is out of range.
func newRotation(h ir.Header, maker func() func(rank int) ir.Program) *rotation {
	period, per, rotated := turns(&h, maker)
	if rotated == nil {
		return nil
	}
	s := &ir.Schedule{Header: h, Programs: make([]ir.Program, h.Ranks)}
	for rank := range s.Programs {
		s.Programs[rank].Rank = rank
	}
	for i := range period {
		if s.Programs[i] = maker()(i); s.Programs[i].Rank != i || !plain(&s.Programs[i], h.Folds()) {
			return nil
		}
	}
	if !inRange(s, period) {
		return nil
	}
	return rotationOf(s, period, per, rotated)
}

// maxPeriod is the longest period that is tried: the ranks of a large host.
const maxPeriod = 256

// turns returns the rotation of a schedule whose header is in range: its period, and what
// [ir.Header.Rotation] returns. rotated is nil if there is none, if a root or recovery tells ranks
// apart, or if a few ranks show that the schedule does not rotate.
func turns(h *ir.Header, maker func() func(rank int) ir.Program) (period, per int, rotated func(ranks, by, group int) int) {
	if h.Ranks < 2 || h.Ranks > ir.MaxRanks || h.Root != 0 || h.Recovers || h.Chunks < 1 || h.Chunks > ir.MaxChunks {
		return 0, 0, nil
	}
	if per, rotated = h.Rotation(); rotated == nil {
		return 0, 0, nil
	}
	longest := min(maxPeriod, h.Ranks/2)
	if h.Folds() {
		longest = 1
	}
	c, program := newComparer(h, per, rotated), maker()
	for period = 1; period <= longest; period++ {
		if h.Ranks%period == 0 && c.putAlike(period, h.Ranks-period, program) &&
			(h.Folds() || c.alike(0, period, maker) && c.alike(period-1, h.Ranks-1, maker)) {
			return period, per, rotated
		}
	}
	return 0, 0, nil
}

// putAlike reports whether the destinations of two ranks' puts are those of one rank, moved on. The
// program of rank 0 may be very large if they are not.
func (c *comparer) putAlike(rank, further int, program func(rank int) ir.Program) bool {
	var to []int32
	first := program(rank)
	eachPut(&first, func(a *ir.Action) bool {
		to = append(to, a.To)
		return true
	})
	last := program(further)
	c.moveOn(further - rank)
	alike := eachPut(&last, func(a *ir.Action) bool {
		if len(to) == 0 {
			return false
		}
		was := to[0]
		to = to[1:]
		return a.To == c.to(&ir.Action{Op: ir.Put, To: was})
	})
	return alike && len(to) == 0
}

// alike reports whether one rank's program is another's, moved on.
func (c *comparer) alike(rank, further int, maker func() func(rank int) ir.Program) bool {
	p, q := maker()(rank), maker()(further)
	return p.Rank == rank && q.Rank == further && c.compare(&p, &q)
}

// inRange reports whether the programs of the members are in range if each rank has as many signals
// and partial results as its member. Then the other programs are in range, too. So a put to any rank
// is taken as a put to the rank of its kind in the second period, and no other rank needs slots.
// Therefore all ranks together may have more slots than a schedule that is read from a file.
func inRange(s *ir.Schedule, period int) bool {
	t := &ir.Schedule{Header: s.Header, Programs: slices.Clone(s.Programs)}
	for i := range period {
		p := &t.Programs[i]
		p.Rules = slices.Clone(p.Rules)
		for i := range p.Rules {
			r := &p.Rules[i]
			r.Do = slices.Clone(r.Do)
			for j := range r.Do {
				if a := &r.Do[j]; a.Op == ir.Put {
					if a.To < 0 || int(a.To) >= s.Ranks {
						return false
					}
					a.To = int32(period + int(a.To)%period)
				}
			}
		}
		second := &t.Programs[period+i]
		second.Signals, second.Values = p.Signals, p.Values
	}
	return ir.Validate(t) == nil
}

// plain reports whether a program only puts, multicasts and folds, without repairs and requests, and
// does not multicast in a schedule that folds.
func plain(p *ir.Program, folding bool) bool {
	if !p.Recovery.IsNone() || p.Requests() != nil {
		return false
	}
	for i := range p.Rules {
		if p.Rules[i].IsRepair() {
			return false
		}
		for _, a := range p.Rules[i].Do {
			if a.Op == ir.Mcast && folding {
				return false
			}
		}
	}
	return true
}

// rotation is the quotient of a schedule that rotates.
type rotation struct {
	quotient
	numbers []numbering.Slots // by member
	per     int               // see [ir.Header.Rotation]
	rotated func(ranks, by, group int) int
}

func rotationOf(s *ir.Schedule, period, per int, rotated func(ranks, by, group int) int) *rotation {
	q := &rotation{per: per, rotated: rotated}
	q.s, q.equations = s, equations{System: fixpoint.Unnamed(), entered: true, ranks: s.Ranks, period: period}
	named := make([][]ir.Slot, period) // by member
	name := func(m int, slot ir.Slot) { named[m] = append(named[m], slot) }
	deeds, rules := 0, 0
	for i := range period {
		p := &s.Programs[i]
		named[i] = append(named[i], p.Done...)
		for j := range p.Signals {
			name(i, ir.Signal(j))
		}
		for j := range p.Values {
			name(i, ir.Value(j))
		}
		lacks := (&subject{s: s}).lacks(i)
		for c, ok := lacks.chunk(); ok; c, ok = lacks.chunk() {
			name(i, c)
		}
		for j := range p.Rules {
			named[i] = append(named[i], p.Rules[j].When...)
			for _, a := range p.Rules[j].Do {
				if a.Op == ir.Mcast {
					q.multicasts = true
					q.eachOther(i, a.Slot, name)
				} else {
					name(q.target(i, a))
				}
				if a.Slot.Kind() == ir.KindChunk || a.Slot.Kind() == ir.KindValue {
					name(i, a.Slot)
				}
				if a.Op == ir.Put || !a.Joins {
					deeds++
				}
			}
		}
		rules += len(p.Rules)
	}
	total := 0
	for i := range period {
		q.numbers = append(q.numbers, numbering.Of(named[i]))
		n := &q.numbers[i]
		first := int32(total)
		total += n.Len()
		chunks, signals, _ := n.Counts()
		m := member{rank: i, slots: run{first, int32(total)}}
		m.chunks = run{first + 1, first + int32(1+chunks)}
		m.signals = run{m.chunks.hi, m.chunks.hi + int32(signals)}
		m.values = run{m.signals.hi, m.slots.hi}
		q.members = append(q.members, m)
	}
	q.makeRoom(total)
	for i := range q.members {
		m := &q.members[i]
		held, wanted := s.Held(i), s.Wanted(i)
		for id := m.chunks.lo; id < m.chunks.hi; id++ {
			k := q.numbers[i].At(int(id - m.slots.lo)).Index()
			q.initial[id], q.wants[id] = held.Has(k), wanted.Has(k)
		}
		q.addMember(m, q.list(q.note(i, s.Programs[i].Done)))
	}
	room := make([]deed, 0, deeds)
	q.deeds = make([][]deed, 0, rules)
	for i := range q.members {
		m, p := &q.members[i], &s.Programs[i]
		m.rules.lo = int32(len(q.deeds))
		room = q.addRules(i, room)
		m.rules.hi = int32(len(q.deeds))
		if s.Folds() {
			for x, rule := range soleReaders(p) {
				if id := q.id(i, ir.Chunk(x.Index())); id >= 0 {
					m.sole = append(m.sole, soleReader{id, m.rules.lo + int32(rule)})
				}
			}
		}
	}
	q.link()
	return q
}

// id returns the number of a slot of a member, or a negative number if it has none.
func (q *rotation) id(m int, slot ir.Slot) int32 {
	n := q.numbers[m].Index(slot)
	if n < 0 {
		return -1
	}
	return q.members[m].slots.lo + int32(n)
}

// note notes slots of a member as a list.
func (q *rotation) note(m int, slots []ir.Slot) run {
	from := len(q.ids)
	for _, slot := range slots {
		q.ids = append(q.ids, q.id(m, slot))
	}
	return q.noted(from)
}

// addRules adds the rules of a member. There is room for their deeds. It returns the room that is
// left.
func (q *rotation) addRules(m int, deeds []deed) []deed {
	p := &q.s.Programs[m]
	for i := range p.Rules {
		r := &p.Rules[i]
		q.AddRule(m)
		for _, slot := range r.When {
			q.Wait(q.id(m, slot))
		}
		first := len(deeds)
		for left := r.Do; len(left) > 0; {
			message := ir.MessageOf(left)
			left = left[len(message):]
			if message[0].Op == ir.Fold {
				deeds = append(deeds, q.deed(m, message))
				continue
			}
			for j := range message {
				deeds = append(deeds, q.deed(m, message[j:j+1]))
			}
		}
		q.deeds = append(q.deeds, deeds[first:])
		q.EndRule()
	}
	return deeds
}

// deed returns the deed of a put, or of the operands of a fold, of a member.
func (q *rotation) deed(m int, of []ir.Action) deed {
	d := deed{to: of[0].To, signal: of[0].Slot.Kind() == ir.KindSignal}
	if of[0].Op == ir.Fold {
		d.to = folds
	}
	if of[0].Op == ir.Mcast {
		d.to = casts
	}
	from := len(q.ids)
	for _, a := range of {
		switch a.Slot.Kind() {
		case ir.KindInput:
			d.input = true
		case ir.KindChunk, ir.KindValue:
			q.ids = append(q.ids, q.id(m, a.Slot))
		}
	}
	d.reads = q.noted(from)
	set := fixpoint.Set{To: d.to}
	if d.to == casts {
		slots := make([]int32, 0, q.s.Ranks)
		q.eachOther(m, of[0].Slot, func(to int, slot ir.Slot) {
			if len(slots) == m {
				slots = append(slots, -1)
			}
			slots = append(slots, q.id(to, slot))
		})
		set.Slot = q.AddCast(of[0].Slot.Index(), slots)
	} else {
		set.Slot = q.id(q.target(m, of[0]))
	}
	d.sets.lo = q.Add(set)
	d.sets.hi = d.sets.lo + 1
	return d
}

// eachOther calls f with the member and its slot that stand for each slot that a member sets if it
// multicasts a chunk: one for each other rank, ascending.
func (q *rotation) eachOther(m int, slot ir.Slot, f func(to int, slot ir.Slot)) {
	for rank := range q.s.Ranks {
		if rank != m {
			f(q.target(m, ir.Action{Op: ir.Put, Slot: slot, To: int32(rank)}))
		}
	}
}

// target returns the member and its slot that stand for the slot that an action of member m sets. For
// a fold it is a slot of m itself.
func (q *rotation) target(m int, a ir.Action) (int, ir.Slot) {
	s := a.Sets()
	if a.Op == ir.Put {
		m = int(a.To) % q.period
	}
	if s.Kind() != ir.KindChunk || a.Op != ir.Put {
		return m, s
	}
	return m, ir.Chunk(q.back(s.Index(), a.To-int32(m)))
}

// back returns the chunk that chunk k becomes if all ranks move back by by.
func (q *rotation) back(k int, by int32) int {
	ranks := q.s.Ranks
	return q.rotated(ranks, (ranks-int(by))%ranks, k/q.per)*q.per + k%q.per
}

// cost returns the cost of all ranks, see costOf.
func (q *rotation) cost() Cost {
	c := Cost{Rounds: q.may.Rounds()}
	from := make([]map[int]bool, q.period) // by member: the ranks that put to it
	for i := range from {
		from[i] = make(map[int]bool)
	}
	for m := range q.period {
		to := make(map[int32]bool)
		for _, r := range q.s.Programs[m].Rules {
			for _, a := range r.Do {
				c.count(a)
				if a.Op == ir.Put {
					to[a.To] = true
					from[int(a.To)%q.period][m-int(a.To)] = true
				}
			}
		}
		c.MaxOut = max(c.MaxOut, len(to))
	}
	for _, ranks := range from {
		c.MaxIn = max(c.MaxIn, len(ranks))
	}
	for _, n := range []*int{&c.Puts, &c.Chunks, &c.Mcasts, &c.Signals} {
		*n *= q.s.Ranks / q.period
	}
	c.Messages = c.Puts + c.Mcasts + c.Signals
	c.Bytes = inBlocks(q.s, c.Chunks+c.Mcasts)
	return c
}

// rotates reports whether the program of each rank is that of a member, moved on. It uses all
// processors, because a ring among 65,536 ranks has 2^32 rules.
func (q *rotation) rotates(h *ir.Header, maker func() func(rank int) ir.Program) bool {
	proto := newComparer(h, q.per, q.rotated)
	return eachRank(q.period, h.Ranks, func() func(rank int) bool {
		c, program := proto, maker()
		return func(rank int) bool {
			p := program(rank)
			return p.Rank == rank && c.compare(&q.s.Programs[rank%q.period], &p)
		}
	})
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

func newComparer(h *ir.Header, per int, rotated func(ranks, by, group int) int) comparer {
	c := comparer{ranks: int32(h.Ranks), per: per, rotated: rotated}
	if c.inOrder(h.Chunks / per) {
		c.chunks = ir.Slot(h.Chunks)
	}
	return c
}

// compare reports whether the program q is p, moved on.
func (c *comparer) compare(p, q *ir.Program) bool {
	c.moveOn(q.Rank - p.Rank)
	return c.same(p, q)
}

// moveOn makes c say what slots and ranks become that move on by by.
func (c *comparer) moveOn(by int) { c.by, c.last = by, [8]stretch{} }

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
	if q.Signals != p.Signals || q.Values != p.Values || len(q.Rules) != len(p.Rules) || !q.Recovery.IsNone() || !c.slots(p.Done, q.Done) {
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
