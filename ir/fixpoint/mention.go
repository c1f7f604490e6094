package fixpoint

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/numbering"
)

// NewLayout numbers the slots and rules of s. It fails if the programs are
// not those of ranks 0 … Ranks-1, if they mention ranks or slots that do not
// exist, or if there are more than [MaxSlots].
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
	m, err := newMentions(s)
	if err != nil {
		return nil, err
	}
	return l, l.number(m)
}

func tooMany(rank int) error {
	return fmt.Errorf("numbering slots: more than %d slots or rules up to rank %d", MaxSlots, rank)
}

// mentions are the slots that a schedule mentions, by rank. What is mentioned
// more than once may be there as often. A multicast chunk, which all ranks have,
// stands apart.
type mentions struct {
	casts numbering.Slots
	slots []ir.Slot
	start []int // by rank: where its part of slots starts; one more entry at the end
	most  int   // length of the longest part
}

// newMentions collects what s mentions: first it is counted, then filled in.
func newMentions(s *ir.Schedule) (*mentions, error) {
	m := &mentions{start: make([]int, s.Ranks+2)}
	var casts []ir.Slot
	for rank := range s.Programs {
		err := eachMention(s, rank, func(to int, slot ir.Slot) { m.start[to+2]++ }, func(chunk ir.Slot) {
			if n := len(casts); n == 0 || casts[n-1] != chunk {
				casts = append(casts, chunk)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	for r := 1; r < len(m.start); r++ {
		m.most = max(m.most, m.start[r])
		m.start[r] += m.start[r-1]
	}
	m.casts = numbering.Of(casts)
	m.slots = make([]ir.Slot, m.start[s.Ranks+1])
	for rank := range s.Programs {
		_ = eachMention(s, rank, func(to int, slot ir.Slot) { // it has not failed before
			m.slots[m.start[to+1]] = slot
			m.start[to+1]++
		}, func(ir.Slot) {})
	}
	m.start = m.start[:s.Ranks+1]
	return m, nil
}

// eachMention calls named with every slot that the program of rank mentions, at
// whichever rank, and cast with every chunk that it multicasts.
func eachMention(s *ir.Schedule, rank int, named func(to int, slot ir.Slot), cast func(chunk ir.Slot)) error {
	p := &s.Programs[rank]
	var wrong error
	own := func(what string, slots ...ir.Slot) {
		for _, slot := range slots {
			if !exists(s, rank, slot) {
				wrong = fmt.Errorf("rank %d: there is no slot %v to %s", rank, slot, what)
				return
			}
			named(rank, slot)
		}
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		own("wait for", r.When...)
		if r.IsRepair() {
			own("call off a repair", r.Unless)
		}
		for _, a := range r.Do {
			chunk := a.Slot.Kind() == ir.KindChunk && a.Slot.Index() < s.Chunks
			switch {
			case a.Op == ir.Mcast && chunk:
				cast(a.Slot)
			case a.Op == ir.Put && a.To >= 0 && int(a.To) < s.Ranks && exists(s, int(a.To), a.Slot):
				named(int(a.To), a.Slot)
				if chunk {
					named(rank, a.Slot)
				}
			default:
				return noSlot(rank, a)
			}
		}
		if wrong != nil {
			return wrong
		}
	}
	own("return upon", p.Done...)
	return wrong
}

// exists reports whether the header and the program of rank let it have the slot.
func exists(s *ir.Schedule, rank int, slot ir.Slot) bool {
	switch slot.Kind() {
	case ir.KindEnter:
		return slot == ir.Enter
	case ir.KindChunk:
		return slot.Index() < s.Chunks
	case ir.KindSignal:
		return slot.Index() < s.Programs[rank].Signals
	}
	return false
}

// number gives the mentioned slots their numbers.
func (l *Layout) number(m *mentions) error {
	l.casts = m.casts
	ranks, casts := len(m.start)-1, l.Casts()
	if casts > 0 && casts > MaxSlots/ranks {
		return fmt.Errorf("numbering slots: more than %d slots: %d chunks are multicast to %d ranks", MaxSlots, casts, ranks)
	}
	p := prefixes{casts: casts, chunks: make([]int32, m.most), signals: make([]int32, m.most)}
	if casts > 0 && l.casts.At(casts) != ir.Chunk(casts-1) {
		p.casts = -1
	}
	slots := 0
	var all []ir.Slot // those of a rank
	for r := range ranks {
		named := m.slots[m.start[r]:m.start[r+1]]
		own, ok := p.of(named)
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

// add gives numbers to the slots of the next rank; prefix says that they are those of
// [numbering.Prefix].
func (l *Layout) add(own numbering.Slots, prefix bool) {
	rank := l.Ranks()
	chunks, _ := own.Counts()
	if rank == 0 {
		l.chunks = chunks
	}
	if l.ranks == nil && (!prefix || chunks != l.chunks) {
		l.ranks = make([]numbering.Slots, rank, cap(l.slotBase)-1)
		for r := range l.ranks {
			l.ranks[r] = numbering.Prefix(l.chunks, int(l.slotBase[r+1]-l.slotBase[r])-1-l.chunks)
		}
	}
	if l.ranks != nil {
		l.ranks = append(l.ranks, own)
	}
	l.slotBase = append(l.slotBase, l.slotBase[rank]+int32(own.Len()))
}

// prefixes finds out, without sorting, which ranks have the chunks and signals
// from 0 on.
type prefixes struct {
	casts   int     // all ranks have the chunks 0 … casts-1; -1: some that are no prefix
	chunks  []int32 // by chunk, from casts on: the last rank seen to have it, counted from 1
	signals []int32 // by signal: likewise
	rank    int32
}

// of returns the numbering of the next rank, which has the named slots and the
// multicast chunks; ok is false if they are not those from 0 on.
func (p *prefixes) of(named []ir.Slot) (own numbering.Slots, ok bool) {
	if p.rank++; p.casts < 0 {
		return own, false
	}
	count := func(seen []int32, i int, n, end *int) bool {
		if i >= len(named) {
			return false // a prefix that long has more slots
		}
		if seen[i] != p.rank {
			seen[i] = p.rank
			*n++
			*end = max(*end, i+1)
		}
		return true
	}
	chunks, chunkEnd, signals, signalEnd := 0, 0, 0, 0
	for _, slot := range named {
		i := slot.Index()
		switch slot.Kind() {
		case ir.KindChunk:
			if i >= p.casts && !count(p.chunks, i-p.casts, &chunks, &chunkEnd) {
				return own, false
			}
		case ir.KindSignal:
			if !count(p.signals, i, &signals, &signalEnd) {
				return own, false
			}
		}
	}
	return numbering.Prefix(p.casts+chunks, signals), chunks == chunkEnd && signals == signalEnd
}
