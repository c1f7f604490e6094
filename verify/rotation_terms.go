package verify

import "github.com/schedgen/schedgen/ir"

// typed is the check typed for rank 0: see proveTyped.
func (q *rotation) typed() bool {
	c := newClasses(&q.s.Header, q.numbers[0].Len(), func(_ int, s ir.Slot) int { return q.numbers[0].Index(s) })
	for i := range q.s.Programs[0].Rules {
		for _, a := range q.s.Programs[0].Rules[i].Do {
			if a.Op == ir.Fold && c.fold(0, a) != nil {
				return false
			}
		}
	}
	for i := range q.s.Programs[0].Values {
		if c.partOfSlot(0, ir.Value(i)) == noPart {
			return false
		}
	}
	for i := range q.s.Programs[0].Rules {
		for _, a := range q.s.Programs[0].Rules[i].Do {
			if a.Op == ir.Put && a.As != ir.None && (c.partOfSlot(0, a.Slot) < 0 || q.back(int(c.partOfSlot(0, a.Slot)), a.To) != int(c.partOfSlot(0, a.As))) {
				return false
			}
		}
	}
	return true
}

// overlap is the check in-place for rank 0: see [subject.overlap]. known is false if the answer takes
// too much memory. Each slot has one maker, so everything is needed before a slot that stands on the
// way to it.
func (q *rotation) overlap() (o *overlap, known bool) {
	claims := overlapClaimsAt(nil, &q.s.Header, &q.s.Programs[0], func(c ir.Slot) bool { return q.numbers[0].Index(c) >= 0 })
	var way map[turned]bool
	for i := range claims {
		c := &claims[i]
		if i == 0 || !c.sameGiven(claims[i-1]) {
			if way = q.wayTo(int32(q.numbers[0].Index(c.given[0]))); way == nil {
				return nil, false
			}
		}
		_, need := q.target(0, ir.Action{Op: ir.Put, Slot: c.need.Slot, To: int32(c.need.Rank)})
		if !way[turned{int32(q.numbers[0].Index(need)), int32(c.need.Rank)}] {
			return &overlap{claim: *c}, true
		}
	}
	return nil, true
}

// turned is the slot of rank by that a slot of rank 0 becomes if all ranks move on by by.
type turned struct{ slot, by int32 }

// maxWay is the largest number of slots that wayTo returns.
const maxWay = 1 << 20

// wayTo returns all slots that must be set before a slot of rank 0, and the slot itself. It returns
// nil if they are too many.
func (q *rotation) wayTo(slot int32) map[turned]bool {
	type maker struct{ rule, to int32 }
	makers := make([]maker, q.Slots())
	for rule := range q.Rules() {
		for _, s := range q.Does(rule) {
			makers[s.Slot] = maker{int32(rule), max(0, s.To)}
		}
	}
	way := map[turned]bool{{slot, 0}: true}
	for todo := []turned{{slot, 0}}; len(todo) > 0; {
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if q.initial[t.slot] {
			continue
		}
		m := makers[t.slot]
		by := (t.by - m.to + int32(q.s.Ranks)) % int32(q.s.Ranks)
		for _, w := range q.When(int(m.rule)) {
			if next := (turned{w, by}); !way[next] {
				if len(way) == maxWay {
					return nil
				}
				way[next], todo = true, append(todo, next)
			}
		}
	}
	return way
}

// values returns the terms of all chunks. It returns nil if they are not as they should be, or if
// ranks fold different terms for one chunk.
//
// Chunk k of group g is chunk k of group 0 with all ranks increased by g. So its tree is the tree
// of that chunk with its ranks increased by g.
func (q *rotation) values() *values {
	ranks := q.s.Ranks
	for g := range q.s.Chunks / q.per {
		if q.rotated(ranks, 1, g) != (g+1)%ranks {
			return nil // no such collective folds
		}
	}
	v := &values{forest: newForest(ranks), slots: make([]term, q.numbers[0].Len()), first: make(map[int]made)}
	// by place in the group: what is made of the chunk of group 0, and by which rank
	group0 := make([]made, q.per)
	for _, rule := range q.may.Fired() {
		var acc term
		do, sets := q.s.Programs[0].Rules[rule].Do, q.Does(int(rule))
		for i, a := range do {
			last := a.Op == ir.Put || i+1 == len(do) || !do[i+1].Joins
			to := int32(-1)
			if last {
				to, sets = sets[0].Slot, sets[1:]
			}
			if a.Slot.Kind() == ir.KindSignal {
				continue
			}
			t := v.contribution(0, a.Slot.Index())
			if a.Slot.Kind() != ir.KindInput {
				t = v.slots[q.numbers[0].Index(a.Slot)]
			}
			if a.Op == ir.Fold && a.Joins {
				acc = v.fold(acc, t)
			} else {
				acc = t
			}
			if !last {
				continue
			}
			if a.Op == ir.Put {
				acc.shift = v.mod(acc.shift - a.To)
				acc.part = int32(q.back(int(acc.part), a.To))
			}
			v.slots[to] = acc
			if a.Op != ir.Fold || a.As.Kind() != ir.KindChunk {
				continue
			}
			k := a.As.Index()
			if acc.part != int32(q.s.InputOf(k)) {
				return nil
			}
			// The rank that is back by this group's number folds the chunk of group 0.
			group := int32(k / q.per)
			m := made{place(int(v.mod(-group)), ir.Chunk(k%q.per)), acc}
			m.shift, m.part = v.mod(m.shift-group), int32(k%q.per)
			was := &group0[k%q.per]
			switch {
			case was.Slot == ir.None:
				*was = m
			case was.tree() != m.tree():
				return nil
			}
			v.made = append(v.made, m)
		}
	}
	v.made = q.madeByAll(v, v.made)
	if v.contributed(&q.s.Header) != nil {
		return nil
	}
	return v
}

// madeByAll returns what is made of the chunks of all groups, given what is made of the chunks of
// group 0. Each chunk is in the result once, with the first rank that makes it.
func (q *rotation) madeByAll(v *values, of0 []made) []made {
	all := make([]made, 0, q.s.Chunks)
	for group := range int32(q.s.Chunks / q.per) {
		for _, m := range of0 {
			k := int(group)*q.per + m.Slot.Index()
			m.Rank, m.Slot = int(v.mod(int32(m.Rank)+group)), ir.Chunk(k)
			m.shift, m.part = v.mod(m.shift+group), int32(k)
			if was, ok := v.first[k]; !ok || m.Rank < was.Rank {
				v.first[k] = m
			}
		}
	}
	for k := range q.s.Chunks {
		if m, ok := v.first[k]; ok {
			all = append(all, m)
		}
	}
	return all
}
