package verify

import "github.com/schedgen/schedgen/ir"

// typed is the check typed: see proveTyped. It also reports false if the parts of an interval are
// not affine.
func (q *intervals) typed() bool {
	q.parts = make([]affine, q.Slots())
	for id := range q.parts {
		q.parts[id].first = unknownPart
	}
	for i := range q.members {
		if !q.typedAt(&q.members[i]) {
			return false
		}
	}
	for i := range q.members {
		m := &q.members[i]
		for _, r := range q.packs[m.rank].rules {
			for _, d := range r.do {
				if d.to == folds || d.as.first.Kind() != ir.KindValue {
					continue
				}
				from, ok := q.partsOf(m, d.of[0])
				into, fine := q.partsOf(&q.members[d.to], d.as)
				if !ok || !fine || !from.same(into, d.as.n) {
					return false
				}
			}
		}
	}
	return true
}

// typedAt finds the parts of a member's partial results from its folds.
func (q *intervals) typedAt(m *member) bool {
	for again := true; again; {
		again = false
		for _, r := range q.packs[m.rank].rules {
			for _, d := range r.do {
				if d.to != folds {
					continue
				}
				grown, ok := q.foldParts(m, &d)
				if !ok {
					return false
				}
				again = again || grown
			}
		}
	}
	for id := m.values.lo; id < m.values.hi; id++ {
		if q.parts[id].first == unknownPart {
			return false
		}
	}
	return true
}

// foldParts compares the parts of the operands and the result of a fold, and notes those that are
// not known yet.
func (q *intervals) foldParts(m *member, d *packedDeed) (grown, ok bool) {
	known := affine{first: unknownPart}
	for i := range len(d.of) + 1 {
		p, ok := q.partsOf(m, d.series(i))
		switch {
		case !ok || p.first != unknownPart && known.first != unknownPart && !p.same(known, d.as.n):
			return false, false
		case p.first != unknownPart:
			known = p
		}
	}
	if known.first == unknownPart {
		return false, true
	}
	for i := range len(d.of) + 1 {
		q.each(m, d.series(i), func(id, j0, by int32) {
			if q.parts[id].first == unknownPart {
				q.parts[id], grown = affine{known.first + j0*known.step, known.step * by}, true
			}
		})
	}
	return grown, true
}

// series returns operand i of a fold, or what it makes.
func (d *packedDeed) series(i int) series {
	if i < len(d.of) {
		return d.of[i]
	}
	return d.as
}

// same reports whether n slots belong to the same parts by a and b.
func (a affine) same(b affine, n int32) bool {
	return a.first == b.first && (n == 1 || a.step == b.step)
}

// partsOf returns the parts of the slots of a series, unknownPart if none of them or not all of them
// are known. ok is false if they are not affine.
func (q *intervals) partsOf(m *member, s series) (p affine, ok bool) {
	if kind := s.first.Kind(); kind == ir.KindChunk || kind == ir.KindInput {
		return affine{int32(s.first.Index()), s.step}, true
	}
	known, steps := true, s.n == 1 // the step is known
	q.each(m, s, func(id, j0, by int32) {
		next := q.parts[id]
		switch {
		case next.first == unknownPart:
			known = false
		case j0 == 0:
			if p.first = next.first; q.length[id] > 1 {
				p.step, steps = next.step/by, true
			}
		case !steps:
			p.step, steps = (next.first-p.first)/j0, true
		}
	})
	if !known {
		return affine{first: unknownPart}, true
	}
	ok = steps
	q.each(m, s, func(id, j0, by int32) {
		next := q.parts[id]
		ok = ok && next.first == p.first+j0*p.step && (q.length[id] == 1 || next.step == p.step*by)
	})
	return p, ok
}

// values returns the terms of all results. It returns nil if they are not as they should be, if
// ranks fold different terms for one chunk, or if the trees of an interval differ.
func (q *intervals) values() *values {
	v := &values{forest: newForest(q.s.Ranks), first: make(map[int]made)}
	q.trees = make([]tree, q.Slots())
	for id := range q.trees {
		q.trees[id].node = noNode
	}
	for _, rule := range q.may.Fired() {
		m := q.memberOf(rule)
		for i := range q.packs[m.rank].rules[rule-m.rules.lo].do {
			d := &q.packs[m.rank].rules[rule-m.rules.lo].do[i]
			if d.as.first.Kind() == ir.KindSignal {
				continue
			}
			t := q.treeOf(m, d.of[0])
			for _, operand := range d.of[1:] {
				next := q.treeOf(m, operand)
				if t.node == noNode || next.node == noNode {
					return nil
				}
				t = v.fold(term{node: t.node, shift: t.shift}, term{node: next.node, shift: next.shift}).tree()
			}
			at := m
			switch {
			case d.to != folds:
				at = &q.members[d.to]
			case t.node == noNode:
				return nil
			case d.as.first.Kind() == ir.KindChunk:
				for i := range d.as.n {
					k := d.as.first.Index() + int(i*d.as.step)
					v.add(m.rank, ir.Chunk(k), term{t.node, t.shift, int32(k)})
				}
			}
			q.each(at, d.as, func(id, _, _ int32) { q.trees[id] = t })
		}
	}
	v.sort()
	if !v.right(&q.s.Header) {
		return nil
	}
	return v
}

// treeOf returns the tree of the slots of a series of a member.
func (q *intervals) treeOf(m *member, s series) (t tree) {
	if s.first.Kind() == ir.KindInput {
		return tree{rankNode, int32(m.rank)}
	}
	n := 0
	q.each(m, s, func(id, _, _ int32) {
		if n++; n == 1 {
			t = q.trees[id]
		} else if t != q.trees[id] {
			t.node = noNode
		}
	})
	return t
}
