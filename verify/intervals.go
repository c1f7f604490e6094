package verify

import (
	"slices"
	"sync/atomic"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
)

// In many schedules most chunks move in company. Halving cuts a vector into as many chunks as there
// are ranks, but a rank sends them in one message for each bit of its number. Such a schedule is
// proved by intervals in place of chunks.
//
// The chunks and the partial results of each rank are cut into intervals, so that every list of
// slots in the rank's program, and every message to the rank, has all slots of an interval or none.
// An interval may have gaps, such as every second chunk of some.
// Puts and folds of consecutive slots are one deed (see packed). If only one deed sets an interval,
// all slots of the interval are set by one rule, so they are set together, whatever is lost and in
// whatever order the rest arrives. A rule that waits for one of them waits for all. So the equations
// of slots are the equations of intervals, repeated for each slot. An interval that several deeds
// set has a fault, which the full checks explain.
//
// Slot i of an interval belongs to part p+i·d of the vector (see affine), and all its slots are
// folded by one tree.

// maxWeight bounds the intervals of all ranks. Their tables take about a hundred bytes for each.
const maxWeight = 1 << 24

// intervals is the quotient of a schedule by intervals.
type intervals struct {
	quotient
	packs   []packed // by rank
	chunks  []cuts   // by rank
	results []cuts   // by rank: of its partial results
	length  []int32  // by slot: how many slots it stands for
	parts   []affine // by slot
	trees   []tree   // by slot; node is noNode if its slots have several trees, or if that is not known
}

// affine says that slot i of some slots belongs to part first+i·step of the vector.
type affine struct{ first, step int32 }

// unknownPart is the first part of slots whose parts are not known.
const unknownPart = noPart

// proveIntervals returns the report of a schedule that it proves by intervals and for which all
// checks hold. It returns nil if that is not the case or not known.
func proveIntervals(h ir.Header, maker func() func(rank int) ir.Program, checks []Check) *Report {
	if !fitsIntervals(&h) || !hasIntervals(h, maker) {
		return nil
	}
	packs := packAll(&h, maker)
	if packs == nil {
		return nil
	}
	q := newIntervals(h, packs)
	if q == nil || !q.computeRounds() || !q.wellformed() || !q.once() {
		return nil
	}
	var v *values
	if h.Folds() {
		if !q.typed() {
			return nil
		}
		if v = q.values(); v == nil {
			return nil
		}
	}
	report := q.report(checks, v, nil)
	if report != nil {
		report.Cost = q.cost()
	}
	return report
}

// fitsIntervals reports whether schedules with this header are proved by intervals.
func fitsIntervals(h *ir.Header) bool {
	s := &ir.Schedule{Header: *h, Programs: make([]ir.Program, max(0, min(h.Ranks, ir.MaxRanks)))}
	for rank := range s.Programs {
		s.Programs[rank].Rank = rank
	}
	return ir.Validate(s) == nil && h.HasMessage() && !h.Recovers && (!h.Folds() || foldsAlike(h))
}

// foldsAlike reports whether chunk k is folded from part k of the contributions of all ranks.
func foldsAlike(h *ir.Header) bool {
	row := h.Row()
	if h.InputChunks() != h.Chunks || row.Question > 0 {
		return false
	}
	for b := range h.Blocks() {
		if row.Folded(h.Ranks, b) != h.Ranks {
			return false
		}
	}
	return true
}

// hasIntervals reports whether the programs of a few ranks have so few intervals that those of all
// ranks are probably not too many. It leaves out rank 0, whose program may be much larger than any
// other.
func hasIntervals(h ir.Header, maker func() func(rank int) ir.Program) bool {
	if !fitsIntervals(&h) {
		return false
	}
	program, k := maker(), newPacker(&h)
	for _, rank := range []int{min(1, h.Ranks-1), h.Ranks / 2, h.Ranks - 1} {
		p := program(rank)
		if c, ok := k.pack(rank, &p); !ok || c.weight > maxWeight/h.Ranks {
			return false
		}
	}
	return true
}

// packAll packs the programs of all ranks, with all processors. It returns nil if one cannot be
// packed or if they have too many intervals.
func packAll(h *ir.Header, maker func() func(rank int) ir.Program) []packed {
	packs := make([]packed, h.Ranks)
	var weight atomic.Int64
	ok := eachRank(0, h.Ranks, func() func(rank int) bool {
		k, program := newPacker(h), maker()
		return func(rank int) bool {
			p := program(rank)
			c, ok := k.pack(rank, &p)
			packs[rank] = c
			return ok && weight.Add(int64(c.weight)) <= maxWeight
		}
	})
	if !ok {
		return nil
	}
	return packs
}

// cuts cut some slots of one kind of a rank into intervals. Between two cuts, slots whose indexes
// agree modulo a number are an interval.
type cuts struct {
	at    []int32  // ascending
	apart []int32  // by cut: the modulus behind it; 0 if each slot is an interval
	first []int32  // by cut: the number of the first interval behind it
	steps []series // those that have gaps
}

// intervals returns the number of intervals.
func (c *cuts) intervals() int32 {
	if len(c.first) == 0 {
		return 0
	}
	return c.first[len(c.first)-1]
}

// add cuts before and after the slots of a series.
func (c *cuts) add(s series) {
	c.at = append(c.at, int32(s.first.Index()), int32(s.last().Index())+1)
	if !s.dense() {
		c.steps = append(c.steps, s)
	}
}

// finish sorts the cuts and numbers the intervals.
func (c *cuts) finish() {
	slices.Sort(c.at)
	c.at = slices.Clone(slices.Compact(c.at))
	c.apart, c.first = slices.Repeat([]int32{1}, len(c.at)), make([]int32, len(c.at))
	for _, s := range c.steps {
		for i := c.find(int32(s.first.Index())); c.at[i] <= int32(s.last().Index()); i++ {
			if all := int64(c.apart[i]) / int64(gcd(int(c.apart[i]), int(s.step))) * int64(s.step); all < int64(c.at[i+1]-c.at[i]) {
				c.apart[i] = int32(all)
			} else {
				c.apart[i] = 0
			}
		}
	}
	c.steps = nil
	for i := range len(c.at) - 1 {
		c.first[i+1] = c.first[i] + c.apart[i]
		if c.apart[i] == 0 {
			c.first[i+1] += c.at[i+1] - c.at[i]
		}
	}
}

// find returns the number of the cut at which slot index k stands.
func (c *cuts) find(k int32) int {
	i, _ := slices.BinarySearch(c.at, k)
	return i
}

// each calls f for each interval of the slots of a series. Slot j0 of the series is the first of the
// interval, and slots j0+by, j0+2·by … are the others.
func (c *cuts) each(s series, f func(interval, j0, by int32)) {
	end := int32(s.last().Index()) + 1
	for i, k := c.find(int32(s.first.Index())), int32(s.first.Index()); k < end; i++ {
		j0, beyond := (k-int32(s.first.Index()))/s.step, min(c.at[i+1], end)
		number := (beyond - k + s.step - 1) / s.step // of the slots before the next cut
		intervals := number
		if c.apart[i] > 0 {
			intervals = min(number, c.apart[i]/s.step)
		}
		for n := range intervals {
			f(c.first[i]+k-c.at[i]+n*s.step, j0+n, intervals)
		}
		k += number * s.step
	}
}

// eachInterval calls f with the first slot of each interval and the number of its slots.
func (c *cuts) eachInterval(f func(first, length int32)) {
	for i := range len(c.at) - 1 {
		n, apart := c.at[i+1]-c.at[i], c.apart[i]
		if apart == 0 {
			apart = n
		}
		for r := range apart {
			f(c.at[i]+r, (n-r+apart-1)/apart)
		}
	}
}

// blockSeries returns the chunks of some blocks as series.
func blockSeries(c ir.Chunks) (all []series) {
	for i := range c.Count {
		if c.Step == 1 {
			return []series{{ir.Chunk(c.First * c.Per), 1, int32(c.Len())}}
		}
		all = append(all, series{ir.Chunk(c.At(i) * c.Per), 1, int32(c.Per)})
	}
	return all
}

// newIntervals returns the equations of the packed programs. It returns nil if a rank does not have
// what others put to it.
func newIntervals(h ir.Header, packs []packed) *intervals {
	q := &intervals{packs: packs}
	q.s = &ir.Schedule{Header: h, Programs: make([]ir.Program, h.Ranks)}
	q.equations = equations{System: fixpoint.Unnamed(), entered: true, ranks: h.Ranks}
	if h.Rooted() && packs[h.Root].signals > 0 {
		return nil // the check acked may depend on what they are for
	}
	if !q.cut() {
		return nil
	}
	slots, rules := int32(0), int32(0)
	for rank := range packs {
		m := member{rank: rank}
		m.slots.lo = slots
		m.chunks = run{slots + 1, slots + 1 + q.chunks[rank].intervals()}
		m.signals = run{m.chunks.hi, m.chunks.hi + int32(packs[rank].signals)}
		m.values = run{m.signals.hi, m.signals.hi + q.results[rank].intervals()}
		m.slots.hi = m.values.hi
		if slots = m.slots.hi; slots > maxWeight {
			return nil
		}
		m.rules = run{rules, rules + int32(len(packs[rank].rules))}
		rules = m.rules.hi
		q.members = append(q.members, m)
	}
	q.makeRoom(int(slots))
	q.length = slices.Repeat([]int32{1}, int(slots))
	for rank := range packs {
		m := &q.members[rank]
		q.fill(m)
		q.addMember(m, q.list(q.note(m, packs[rank].done)))
	}
	q.deeds = make([][]deed, 0, rules)
	for rank := range packs {
		m := &q.members[rank]
		for _, x := range packs[rank].sole {
			q.each(m, x.chunks, func(id, _, _ int32) { m.sole = append(m.sole, soleReader{id, m.rules.lo + x.rule}) })
		}
		for i := range packs[rank].rules {
			r := &packs[rank].rules[i]
			q.AddRule(rank)
			for _, s := range r.when {
				q.each(m, s, func(id, _, _ int32) { q.Wait(id) })
			}
			q.deeds = append(q.deeds, q.deedsOf(m, r.do))
			q.EndRule()
		}
	}
	q.link()
	return q
}

// cut makes the cuts of all ranks. It reports whether ranks have what others put to them.
func (q *intervals) cut() bool {
	q.chunks, q.results = make([]cuts, len(q.packs)), make([]cuts, len(q.packs))
	for rank := range q.packs {
		p := &q.packs[rank]
		if p.values > 0 {
			q.cutAt(rank, series{ir.Value(0), 1, int32(p.values)})
		}
		for _, s := range slices.Concat(p.done, blockSeries(q.s.Held(rank)), blockSeries(q.s.Wanted(rank))) {
			q.cutAt(rank, s)
		}
		for i := range p.sole {
			q.cutAt(rank, p.sole[i].chunks)
		}
		for i := range p.rules {
			for _, s := range p.rules[i].when {
				q.cutAt(rank, s)
			}
			for _, d := range p.rules[i].do {
				for _, s := range d.of {
					q.cutAt(rank, s)
				}
				if d.to == folds {
					q.cutAt(rank, d.as)
					continue
				}
				theirs, last := &q.packs[d.to], d.as.last()
				switch kind := d.as.first.Kind(); {
				case kind != last.Kind():
					return false
				case kind == ir.KindValue && last.Index() >= theirs.values, kind == ir.KindSignal && last.Index() >= theirs.signals:
					return false
				}
				q.cutAt(int(d.to), d.as)
			}
		}
	}
	for rank := range q.packs {
		q.chunks[rank].finish()
		q.results[rank].finish()
	}
	return true
}

// cutAt cuts the slots of a rank before and after those of a series.
func (q *intervals) cutAt(rank int, s series) {
	switch s.first.Kind() {
	case ir.KindChunk:
		q.chunks[rank].add(s)
	case ir.KindValue:
		q.results[rank].add(s)
	}
}

// fill fills in the tables for the slots of a member.
func (q *intervals) fill(m *member) {
	held, wanted := q.s.Held(m.rank), q.s.Wanted(m.rank)
	id := m.chunks.lo
	q.chunks[m.rank].eachInterval(func(k, length int32) {
		q.length[id], q.initial[id], q.wants[id] = length, held.Has(int(k)), wanted.Has(int(k))
		id++
	})
	id = m.values.lo
	q.results[m.rank].eachInterval(func(_, length int32) {
		q.length[id] = length
		id++
	})
}

// each calls f for each slot of a member to which the slots of a series belong, with the positions
// of these: see [cuts.each]. Contributions have none.
func (q *intervals) each(m *member, s series, f func(id, j0, by int32)) {
	switch s.first.Kind() {
	case ir.KindEnter:
		f(m.slots.lo, 0, 1)
	case ir.KindSignal:
		for i := range s.n {
			f(m.signals.lo+int32(s.first.Index())+i*s.step, i, 1)
		}
	case ir.KindChunk:
		q.chunks[m.rank].each(s, func(i, j0, by int32) { f(m.chunks.lo+i, j0, by) })
	case ir.KindValue:
		q.results[m.rank].each(s, func(i, j0, by int32) { f(m.values.lo+i, j0, by) })
	}
}

// note notes the slots of series as a list.
func (q *intervals) note(m *member, series []series) run {
	from := len(q.ids)
	for _, s := range series {
		q.each(m, s, func(id, _, _ int32) { q.ids = append(q.ids, id) })
	}
	return q.noted(from)
}

// deedsOf adds what a rule sets to the System.
func (q *intervals) deedsOf(m *member, do []packedDeed) []deed {
	deeds := make([]deed, len(do))
	for i := range do {
		d, p := &deeds[i], &do[i]
		d.to, d.signal = p.to, p.of[0].first.Kind() == ir.KindSignal
		for _, s := range p.of {
			d.input = d.input || s.first.Kind() == ir.KindInput
		}
		if d.reads = q.noted(len(q.ids)); !d.signal {
			d.reads = q.note(m, p.of)
		}
		at := m
		if d.to != folds {
			at = &q.members[d.to]
		}
		d.sets.lo = int32(len(q.Sets()))
		q.each(at, p.as, func(id, _, _ int32) { q.Add(fixpoint.Set{Slot: id, To: d.to}) })
		d.sets.hi = int32(len(q.Sets()))
	}
	return deeds
}

// cost returns the cost, see costOf.
func (q *intervals) cost() Cost {
	c := newPackedCost(q.s.Ranks)
	for rank := range q.packs {
		c.add(rank, &q.packs[rank])
	}
	return c.total(q.s, q.may.Rounds())
}

// packedCost adds up the cost of packed programs.
type packedCost struct {
	Cost
	in   []int   // by rank: how many ranks put to it
	seen []int32 // by rank: the last rank that was found to put to it
}

func newPackedCost(ranks int) packedCost {
	return packedCost{in: make([]int, ranks), seen: slices.Repeat([]int32{-1}, ranks)}
}

// add adds the cost of what a rank puts.
func (c *packedCost) add(rank int, p *packed) {
	c.Puts, c.Chunks, c.Signals = c.Puts+p.cost.Puts, c.Chunks+p.cost.Chunks, c.Signals+p.cost.Signals
	out := 0
	for i := range p.rules {
		for _, d := range p.rules[i].do {
			if d.to != folds && c.seen[d.to] != int32(rank) {
				c.seen[d.to] = int32(rank)
				out++
				c.in[d.to]++
			}
		}
	}
	c.MaxOut = max(c.MaxOut, out)
}

// total returns the cost of a schedule that takes so many rounds, once all ranks are added.
func (c *packedCost) total(s *ir.Schedule, rounds int) Cost {
	all := c.Cost
	all.Rounds, all.MaxIn = rounds, slices.Max(c.in)
	all.Messages = all.Puts + all.Signals
	all.Bytes = inBlocks(s, all.Chunks)
	return all
}
