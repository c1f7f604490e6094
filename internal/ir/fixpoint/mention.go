package fixpoint

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/ir/numbering"
	"github.com/schedgen/schedgen/ir"
)

// NewLayout numbers the slots and rules of s. It fails if the ranks of the programs are not 0 …
// Ranks-1, if they mention ranks or slots that do not exist, or if there are more than [MaxSlots]
// slots or rules.
func NewLayout(s *ir.Schedule) (*Layout, error) {
	if s.Ranks < 1 || len(s.Programs) != s.Ranks {
		return nil, fmt.Errorf("numbering slots: %d programs for %d ranks", len(s.Programs), s.Ranks)
	}
	if s.Chunks < 0 || s.Chunks > ir.MaxChunks || s.Ranks > MaxSlots {
		return nil, fmt.Errorf("numbering slots: %d ranks with %d chunks are out of range", s.Ranks, s.Chunks)
	}
	l := &Layout{slotBase: make([]int32, 1, s.Ranks+1), ruleBase: make([]int32, 1, s.Ranks+1)}
	rules := 0
	for r := range s.Programs {
		p := &s.Programs[r]
		if p.Rank != r || p.Signals < 0 || p.Signals > ir.MaxIndex {
			return nil, fmt.Errorf("numbering slots: program %d is of rank %d with %d signals", r, p.Rank, p.Signals)
		}
		if rules += len(p.Rules); rules > MaxSlots {
			return nil, tooMany(r)
		}
		l.ruleBase = append(l.ruleBase, int32(rules))
	}
	l.ruleRank = make([]int32, 0, rules)
	for r := range s.Programs {
		for range s.Programs[r].Rules {
			l.ruleRank = append(l.ruleRank, int32(r))
		}
	}
	m := mentions{s: s}
	if all, err := l.numberAll(&m); all || err != nil {
		return l, err
	}
	if err := m.collect(); err != nil {
		return nil, err
	}
	return l, l.number(&m)
}

func tooMany(rank int) error {
	return fmt.Errorf("numbering slots: more than %d slots or rules up to rank %d", MaxSlots, rank)
}

// numberAll numbers every chunk of the header and every signal that a program claims, at each rank.
// It does so only if the schedule mentions all of them. Otherwise it returns false and leaves the
// layout empty.
func (l *Layout) numberAll(m *mentions) (all bool, err error) {
	s, slots, most := m.s, 0, 0
	for r := range s.Programs {
		p := &s.Programs[r]
		if p.Values > 0 {
			l.slotBase = l.slotBase[:1]
			return false, nil
		}
		slots += 1 + s.Chunks + p.Signals
		most += 1 + len(p.Done)
		for i := range p.Rules {
			most += len(p.Rules[i].When) + 2*len(p.Rules[i].Do) + 1
		}
		if slots > MaxSlots {
			break
		}
		l.slotBase = append(l.slotBase, int32(slots))
	}
	if slots > min(most, MaxSlots) {
		l.slotBase = l.slotBase[:1]
		return false, nil
	}
	m.seen, m.base = make([]bool, slots), l.slotBase
	if err := m.programs(); err != nil {
		return false, err
	}
	casts := numbering.Of(m.casts)
	if missing := slots - s.Ranks - m.distinct; missing > 0 && (casts.Len()-1 != s.Chunks || m.signalsMissing()) {
		m.seen, l.slotBase = nil, l.slotBase[:1]
		return false, nil
	}
	l.chunks, l.casts = s.Chunks, casts
	return true, nil
}

// mentions are the slots that a schedule mentions, by rank, possibly with duplicates. Multicast
// chunks are in a list of their own, because all ranks have them.
type mentions struct {
	s     *ir.Schedule
	casts []ir.Slot

	// numberAll uses these to compare the claimed slots with the mentioned slots.
	seen     []bool  // by number in a layout of all claimed slots: whether it is mentioned
	base     []int32 // by rank: its first number
	distinct int     // how many numbers have been seen, enter excluded

	// collect uses these to list the slots that are mentioned.
	slots []ir.Slot
	start []int // by rank: where its part of slots starts; one more entry at the end
	most  int   // length of the longest part
}

// collect lists the slots that the schedule mentions. It first counts them and then fills in the
// list.
func (m *mentions) collect() error {
	m.start = make([]int, m.s.Ranks+2)
	if err := m.programs(); err != nil {
		return err
	}
	for r := 1; r < len(m.start); r++ {
		m.most = max(m.most, m.start[r])
		m.start[r] += m.start[r-1]
	}
	m.slots = make([]ir.Slot, m.start[m.s.Ranks+1])
	if err := m.programs(); err != nil {
		return err
	}
	m.start = m.start[:m.s.Ranks+1]
	return nil
}

// signalsMissing reports whether the schedule fails to mention a signal that a program claims.
func (m *mentions) signalsMissing() bool {
	for r := range m.s.Programs {
		for _, seen := range m.seen[int(m.base[r])+1+m.s.Chunks : m.base[r+1]] {
			if !seen {
				return true
			}
		}
	}
	return false
}

// add records that slot of rank is mentioned. While collect counts, m.slots is nil, and add counts
// the slots of rank r in start[r+2]. After the prefix sums, start[r+1] is the index where the part
// of rank r begins, and filling moves it to the part's end.
func (m *mentions) add(rank int, slot ir.Slot) {
	switch {
	case m.seen != nil:
		id := int(m.base[rank])
		switch slot.Kind() {
		case ir.KindChunk:
			id += 1 + slot.Index()
		case ir.KindSignal:
			id += 1 + m.s.Chunks + slot.Index()
		default:
			return
		}
		if !m.seen[id] {
			m.seen[id] = true
			m.distinct++
		}
	case m.slots == nil:
		m.start[rank+2]++
	default:
		m.slots[m.start[rank+1]] = slot
		m.start[rank+1]++
	}
}

// programs adds the slots that all programs mention.
func (m *mentions) programs() error {
	m.casts = m.casts[:0]
	for rank := range m.s.Programs {
		if err := m.program(rank); err != nil {
			return err
		}
	}
	return nil
}

// program adds the slots that the program of rank mentions, at all ranks.
func (m *mentions) program(rank int) error {
	p := &m.s.Programs[rank]
	for i := range p.Rules {
		r := &p.Rules[i]
		for _, slot := range r.When {
			if err := m.own(rank, slot); err != nil {
				return err
			}
		}
		if r.IsRepair() {
			if err := m.own(rank, r.Unless); err != nil {
				return err
			}
		}
		for _, a := range r.Do {
			if err := m.action(rank, a); err != nil {
				return err
			}
		}
	}
	for _, slot := range p.Done {
		if err := m.own(rank, slot); err != nil {
			return err
		}
	}
	return nil
}

// own adds a slot that the program of rank names as its own.
func (m *mentions) own(rank int, slot ir.Slot) error {
	if !m.exists(rank, slot) {
		return fmt.Errorf("rank %d: there is no slot %v to wait for", rank, slot)
	}
	m.add(rank, slot)
	return nil
}

func (m *mentions) action(rank int, a ir.Action) error {
	chunk := a.Slot.Kind() == ir.KindChunk && a.Slot.Index() < m.s.Chunks
	switch {
	case a.Op == ir.Fold && m.exists(rank, a.Slot) && m.exists(rank, a.As):
		m.add(rank, a.As)
		if a.Slot.Kind() != ir.KindInput {
			m.add(rank, a.Slot)
		}
	case a.Op == ir.Put && a.As != ir.None && a.To >= 0 && int(a.To) < m.s.Ranks && m.exists(rank, a.Slot) && m.exists(int(a.To), a.As):
		m.add(int(a.To), a.As)
		if a.Slot.Kind() != ir.KindInput {
			m.add(rank, a.Slot)
		}
	case a.Op == ir.Mcast && chunk:
		if n := len(m.casts); n == 0 || m.casts[n-1] != a.Slot {
			m.casts = append(m.casts, a.Slot)
		}
	case a.Op == ir.Put && a.To >= 0 && int(a.To) < m.s.Ranks && m.exists(int(a.To), a.Slot):
		m.add(int(a.To), a.Slot)
		if chunk {
			m.add(rank, a.Slot)
		}
	default:
		return fmt.Errorf("rank %d: %v of %v to rank %d: no such slot there", rank, a.Op, a.Slot, a.To)
	}
	return nil
}

// exists reports whether rank may have the slot, according to the header and the rank's program.
func (m *mentions) exists(rank int, slot ir.Slot) bool {
	switch slot.Kind() {
	case ir.KindEnter:
		return slot == ir.Enter
	case ir.KindChunk:
		return slot.Index() < m.s.Chunks
	case ir.KindSignal:
		return slot.Index() < m.s.Programs[rank].Signals
	case ir.KindValue:
		return slot.Index() < m.s.Programs[rank].Values
	case ir.KindInput:
		return slot.Index() < m.s.InputChunks()
	}
	return false
}

// number numbers the mentioned slots.
func (l *Layout) number(m *mentions) error {
	l.casts = numbering.Of(m.casts)
	ranks, casts := len(m.start)-1, l.Casts()
	if casts > 0 && casts > MaxSlots/ranks {
		return fmt.Errorf("numbering slots: more than %d slots: %d chunks are multicast to %d ranks", MaxSlots, casts, ranks)
	}
	p := prefixes{casts: casts}
	for _, d := range []*distinct{&p.chunks, &p.signals, &p.values} {
		d.seen = make([]int32, m.most)
	}
	if casts > 0 && l.casts.At(casts) != ir.Chunk(casts-1) {
		p.casts = -1
	}
	slots := 0
	var all []ir.Slot // the slots of one rank
	for r := range ranks {
		named := m.slots[m.start[r]:m.start[r+1]]
		own, ok := p.numberingOf(named)
		if !ok {
			all = append(all[:0], named...)
			for i := range casts {
				all = append(all, l.casts.At(1+i))
			}
			own = numbering.Of(all)
		}
		if slots += own.Len(); slots > MaxSlots {
			return tooMany(r)
		}
		l.add(own, ok)
	}
	return nil
}

// add numbers the slots of the next rank. prefix says that own is a numbering that
// [numbering.Prefix] returns.
func (l *Layout) add(own numbering.Slots, prefix bool) {
	rank := l.Ranks()
	chunks, _, values := own.Counts()
	if rank == 0 {
		l.chunks = chunks
	}
	if l.ranks == nil && (!prefix || chunks != l.chunks || values > 0) {
		l.ranks = make([]numbering.Slots, rank, cap(l.slotBase)-1)
		for r := range l.ranks {
			l.ranks[r] = numbering.Prefix(l.chunks, int(l.slotBase[r+1]-l.slotBase[r])-1-l.chunks, 0)
		}
	}
	if l.ranks != nil {
		l.ranks = append(l.ranks, own)
	}
	l.slotBase = append(l.slotBase, l.slotBase[rank]+int32(own.Len()))
}

// prefixes finds out, without sorting, which ranks have chunks, signals and partial results without
// gaps from 0 on.
type prefixes struct {
	casts   int      // all ranks have the chunks 0 … casts-1; -1: the multicast chunks have gaps
	chunks  distinct // the chunks from casts on
	signals distinct
	values  distinct
}

// distinct counts the distinct numbers of a rank, and finds the largest.
type distinct struct {
	seen   []int32 // by number: the last rank that had it, counted from 1
	rank   int32
	n, end int
}

func (d *distinct) restart() { d.rank, d.n, d.end = d.rank+1, 0, 0 }

// add records number i of a rank that has at most most numbers. It returns false if i shows that
// the numbers have gaps.
func (d *distinct) add(i, most int) bool {
	if i >= most {
		return false
	}
	if d.seen[i] != d.rank {
		d.seen[i] = d.rank
		d.n++
		d.end = max(d.end, i+1)
	}
	return true
}

// numberingOf returns the numbering of the next rank, which has the named slots and the multicast chunks. ok
// is false if they have gaps.
func (p *prefixes) numberingOf(named []ir.Slot) (own numbering.Slots, ok bool) {
	if p.casts < 0 {
		return own, false
	}
	p.chunks.restart()
	p.signals.restart()
	p.values.restart()
	for _, slot := range named {
		switch i := slot.Index(); slot.Kind() {
		case ir.KindChunk:
			if i >= p.casts && !p.chunks.add(i-p.casts, len(named)) {
				return own, false
			}
		case ir.KindSignal:
			if !p.signals.add(i, len(named)) {
				return own, false
			}
		case ir.KindValue:
			if !p.values.add(i, len(named)) {
				return own, false
			}
		}
	}
	own = numbering.Prefix(p.casts+p.chunks.n, p.signals.n, p.values.n)
	return own, p.chunks.n == p.chunks.end && p.signals.n == p.signals.end && p.values.n == p.values.end
}
