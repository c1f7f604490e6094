package verify

import (
	"slices"

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
// Where only the folds of partial results do not rotate, the same holds for the programs without
// them (see bare.go).
//
// All questions of the checks are then asked of rank 0, and a positive answer holds for all ranks.
// This file decides only questions about slots that need no must-analysis, and reuse. In all other
// cases, and above all if there is a fault, it leaves the answer to the full checks, which can
// explain it.

// proveRotation returns the report of a schedule that rotates, or whose bare programs rotate (see
// bare.go), and for which all checks hold. It makes the programs of all ranks, one after the other,
// and compares each with the program of rank 0. It keeps the program of rank 0, and one for each
// goroutine. It returns nil if the schedule does not rotate, if its chunks have no rotation (see
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
	if !rotates(&h, q.per, q.rotated, q.p, maker) {
		return nil
	}
	if bare != nil {
		if v = bare.values(); v == nil {
			return nil
		}
	}
	report := q.report(checks, v, o)
	if report != nil {
		report.Cost, report.Rotates, report.FoldsApart = q.cost(), true, bare != nil
	}
	return report
}

// mayRotate reports whether the first and the last rank do what rank 0 does, so that a schedule
// probably rotates.
func mayRotate(h ir.Header, maker func() func(rank int) ir.Program) bool {
	q := newRotation(h, maker)
	if q == nil {
		return false
	}
	program := maker()
	c := newComparer(&h, q.per, q.rotated)
	for _, rank := range []int{1, h.Ranks - 1} {
		if p := program(rank); !c.compare(rank, q.p, &p) {
			return false
		}
	}
	return true
}

// newRotation returns the equations of rank 0 of a schedule that rotates, or nil if the program of
// rank 0 shows that it does not, or that it is out of range.
func newRotation(h ir.Header, maker func() func(rank int) ir.Program) *rotation {
	per, rotated := turns(&h, maker)
	if rotated == nil {
		return nil
	}
	first := maker()(0)
	s := &ir.Schedule{Header: h, Programs: make([]ir.Program, h.Ranks)}
	for rank := range s.Programs {
		s.Programs[rank].Rank = rank
	}
	s.Programs[0] = first
	if !plain(&first, h.Folds()) || !inRange(s) {
		return nil
	}
	return rotationOf(s, per, rotated)
}

// turns returns the rotation of a schedule whose header is in range: see [ir.Header.Rotation]. rotated
// is nil if there is none, if a root or recovery tells ranks apart, or if the first and the last rank
// after rank 0 show that the schedule does not rotate. The program of rank 0 may be very large then.
func turns(h *ir.Header, maker func() func(rank int) ir.Program) (per int, rotated func(ranks, by, group int) int) {
	if h.Ranks < 2 || h.Ranks > ir.MaxRanks || h.Root != 0 || h.Recovers || h.Chunks < 1 || h.Chunks > ir.MaxChunks {
		return 0, nil
	}
	if per, rotated = h.Rotation(); rotated == nil {
		return 0, nil
	}
	c, program := newComparer(h, per, rotated), maker()
	var to []int32
	first := program(1)
	eachPut(&first, func(a *ir.Action) bool {
		to = append(to, a.To)
		return true
	})
	last := program(h.Ranks - 1)
	c.moveOn(h.Ranks - 2)
	alike := eachPut(&last, func(a *ir.Action) bool {
		if len(to) == 0 {
			return false
		}
		was := to[0]
		to = to[1:]
		return a.To == c.to(&ir.Action{Op: ir.Put, To: was})
	})
	if !alike || len(to) > 0 {
		return 0, nil
	}
	return per, rotated
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
	p       *ir.Program
	numbers numbering.Slots
	per     int // see [ir.Header.Rotation]
	rotated func(ranks, by, group int) int
}

func rotationOf(s *ir.Schedule, per int, rotated func(ranks, by, group int) int) *rotation {
	q := &rotation{quotient: quotient{s: s, turns: true}, p: &s.Programs[0], per: per, rotated: rotated}
	named := slices.Clone(q.p.Done)
	for j := range q.p.Signals {
		named = append(named, ir.Signal(j))
	}
	for j := range q.p.Values {
		named = append(named, ir.Value(j))
	}
	lacks := (&subject{s: s}).lacks(0)
	for c, ok := lacks.chunk(); ok; c, ok = lacks.chunk() {
		named = append(named, c)
	}
	deeds := 0
	for i := range q.p.Rules {
		named = append(named, q.p.Rules[i].When...)
		for _, a := range q.p.Rules[i].Do {
			named = append(named, q.here(a))
			if a.Op == ir.Mcast {
				named, q.multicasts = q.others(named, a.Slot), true
			}
			if a.Slot.Kind() == ir.KindChunk || a.Slot.Kind() == ir.KindValue {
				named = append(named, a.Slot)
			}
			if a.Op == ir.Put || !a.Joins {
				deeds++
			}
		}
	}
	q.numbers = numbering.Of(named)
	q.makeRoom(q.numbers.Len())
	chunks, signals, _ := q.numbers.Counts()
	m := member{slots: run{0, int32(q.numbers.Len())}, rules: run{0, int32(len(q.p.Rules))}}
	m.chunks = run{1, int32(1 + chunks)}
	m.signals = run{m.chunks.hi, m.chunks.hi + int32(signals)}
	m.values = run{m.signals.hi, m.slots.hi}
	held, wanted := s.Held(0), s.Wanted(0)
	for id := m.chunks.lo; id < m.chunks.hi; id++ {
		k := q.numbers.At(int(id)).Index()
		q.initial[id], q.wants[id] = held.Has(k), wanted.Has(k)
	}
	m.done = q.note(q.p.Done)
	q.addRules(make([]deed, 0, deeds))
	if s.Folds() {
		for x, rule := range soleReaders(q.p) {
			if id := q.numbers.Index(ir.Chunk(x.Index())); id >= 0 {
				m.sole = append(m.sole, soleReader{int32(id), int32(rule)})
			}
		}
	}
	q.members = []member{m}
	q.link()
	return q
}

// note notes slots as a list.
func (q *rotation) note(slots []ir.Slot) run {
	from := len(q.ids)
	for _, slot := range slots {
		q.ids = append(q.ids, int32(q.numbers.Index(slot)))
	}
	return q.noted(from)
}

// addRules adds the rules of rank 0. There is room for their deeds.
func (q *rotation) addRules(deeds []deed) {
	q.rules = make([]qrule, len(q.p.Rules))
	for i := range q.p.Rules {
		r := &q.p.Rules[i]
		q.rules[i].when = q.note(r.When)
		first := len(deeds)
		for left := r.Do; len(left) > 0; {
			message := ir.MessageOf(left)
			left = left[len(message):]
			if message[0].Op == ir.Fold {
				deeds = append(deeds, q.deed(message))
				continue
			}
			for j := range message {
				deeds = append(deeds, q.deed(message[j:j+1]))
			}
		}
		q.rules[i].do = deeds[first:]
	}
}

// deed returns the deed of a put, or of the operands of a fold.
func (q *rotation) deed(of []ir.Action) deed {
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
			q.ids = append(q.ids, int32(q.numbers.Index(a.Slot)))
		}
	}
	d.reads = q.noted(from)
	if d.to == casts {
		d.sets = q.note(q.others(nil, of[0].Slot))
		return d
	}
	from = len(q.ids)
	q.ids = append(q.ids, int32(q.numbers.Index(q.here(of[0]))))
	d.sets = q.noted(from)
	return d
}

// others appends the slots of rank 0 that ranks -1, -2 … set if each multicasts the chunk that chunk
// slot of rank 0 becomes.
func (q *rotation) others(to []ir.Slot, slot ir.Slot) []ir.Slot {
	for by := 1; by < q.s.Ranks; by++ {
		to = append(to, ir.Chunk(q.back(slot.Index(), int32(by))))
	}
	return to
}

// here returns the slot of rank 0 that the action of rank -To sets. For a fold it is a slot of rank
// 0 itself.
func (q *rotation) here(a ir.Action) ir.Slot {
	s := a.Sets()
	if s.Kind() != ir.KindChunk {
		return s
	}
	return ir.Chunk(q.back(s.Index(), a.To))
}

// back returns the chunk that chunk k becomes if all ranks move back by by.
func (q *rotation) back(k int, by int32) int {
	ranks := q.s.Ranks
	return q.rotated(ranks, (ranks-int(by))%ranks, k/q.per)*q.per + k%q.per
}

// cost returns the cost of all ranks, see costOf.
func (q *rotation) cost() Cost {
	c := Cost{Rounds: q.last()}
	peers := make(map[int32]bool)
	for i := range q.p.Rules {
		for _, a := range q.p.Rules[i].Do {
			c.count(a)
			if a.Op == ir.Put {
				peers[a.To] = true
			}
		}
	}
	for _, n := range []*int{&c.Puts, &c.Chunks, &c.Mcasts, &c.Signals} {
		*n *= q.s.Ranks
	}
	c.Messages = c.Puts + c.Mcasts + c.Signals
	c.Bytes = inBlocks(q.s, c.Chunks+c.Mcasts)
	c.MaxOut, c.MaxIn = len(peers), len(peers)
	return c
}

// rotates reports whether the program of each rank is first, shifted. It uses all processors,
// because a ring among 65,536 ranks has 2^32 rules.
func rotates(h *ir.Header, per int, rotated func(ranks, by, group int) int, first *ir.Program, maker func() func(rank int) ir.Program) bool {
	proto := newComparer(h, per, rotated)
	return eachRank(1, h.Ranks, func() func(rank int) bool {
		c, program := proto, maker()
		return func(rank int) bool {
			p := program(rank)
			return c.compare(rank, first, &p)
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

// compare reports whether q, the program of rank, is the program p of rank 0, shifted.
func (c *comparer) compare(rank int, p, q *ir.Program) bool {
	c.moveOn(rank)
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
