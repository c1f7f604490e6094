package verify

import (
	"slices"
	"sync"

	"github.com/schedgen/schedgen/ir"
)

// Some schedules rotate except for their folds. In reduce-scatter/linear, rank r puts its
// contributions to all others, beginning with rank r+1, but it folds what comes in the order of the
// ranks, beginning with rank 0. So ranks give partial results different numbers and fold different
// trees. Such a schedule is proved by its bare programs, which rotate.
//
// The bare program of a rank numbers the partial results that come from other ranks by the puts that
// bring them: put m of contributions in the sender's program brings v<m>. The bare program leaves out
// the partial results that the rank folds itself. A rule that waits for such a result waits instead
// for all slots for which the fold's rule waits. A chunk is folded from all leaves of its tree at
// once.
//
// Only folds of the same rank read the partial results that are left out. Each of these results is
// set as soon as the last slot is set for which the fold's rule waits. So all other slots are set in
// the same rounds as in the schedule, and need the same slots before. Both forms therefore give the
// same answers, except about trees. The trees are computed from the full program of each rank. One
// rank's program is enough for its trees, because ranks receive and fold only contributions.

// maxContributions bounds the puts of contributions of all ranks. A table has four bytes for each.
const maxContributions = 1 << 26

// bareForm makes the bare programs of a schedule, and the terms of the chunks that ranks fold.
type bareForm struct {
	h     *ir.Header
	maker func() func(rank int) ir.Program
	to    []int32   // by put of a contribution: its destination if rank 0 puts
	as    [][]int32 // by rank and put: the partial result that the put sets
	mu    sync.Mutex
	v     *values // guarded by mu; the trees of all ranks whose bare programs were made
}

// newBareForm returns the bare form of a schedule. It returns nil if there is none, or if the puts
// of a few ranks show that the bare programs do not rotate.
func newBareForm(h *ir.Header, maker func() func(rank int) ir.Program) *bareForm {
	to := mayRotateBare(h, maker)
	if to == nil {
		return nil
	}
	b := &bareForm{h: h, maker: maker, to: to, as: make([][]int32, h.Ranks)}
	b.v = &values{forest: newForest(h.Ranks), first: make(map[int]made)}
	ok := eachRank(0, h.Ranks, func() func(rank int) bool {
		program := maker()
		return func(rank int) bool {
			p := program(rank)
			b.as[rank] = make([]int32, 0, len(to))
			return eachPut(&p, func(a *ir.Action) bool {
				if a.As.Kind() == ir.KindValue {
					b.as[rank] = append(b.as[rank], int32(a.As.Index()))
				}
				return len(b.as[rank]) <= len(to)
			}) && len(b.as[rank]) == len(to)
		}
	})
	if !ok {
		return nil
	}
	return b
}

// mayRotateBare returns the destinations of rank 0's contributions if the first and the last rank
// put what rank 0 puts. Then the bare programs probably rotate. Otherwise it returns nil.
func mayRotateBare(h *ir.Header, maker func() func(rank int) ir.Program) (to []int32) {
	_, per, rotated := turns(h, maker)
	if rotated == nil || !h.Folds() {
		return nil
	}
	program := maker()
	first := program(0)
	var puts []ir.Action
	ok := eachPut(&first, func(a *ir.Action) bool {
		if puts = append(puts, *a); a.As != ir.None {
			to = append(to, a.To)
		}
		return 0 < a.To && int(a.To) < h.Ranks && (a.Slot.Kind() == ir.KindSignal || a.Slot.Index() < h.Chunks)
	})
	if !ok || len(to) == 0 || len(to) > maxContributions/h.Ranks {
		return nil
	}
	c := newComparer(h, per, rotated)
	for _, rank := range []int{1, h.Ranks - 1} {
		p, left := program(rank), puts
		c.moveOn(rank)
		alike := eachPut(&p, func(a *ir.Action) bool {
			if len(left) == 0 {
				return false
			}
			b := &left[0]
			left = left[1:]
			return a.Slot == c.one(b.Slot) && a.To == c.to(b) && a.As.Kind() == b.As.Kind()
		})
		if !alike || len(left) > 0 {
			return nil
		}
	}
	return to
}

// eachPut calls f for each put of a program until f returns false. It reports whether f never did.
func eachPut(p *ir.Program, f func(*ir.Action) bool) bool {
	for i := range p.Rules {
		do := p.Rules[i].Do
		for j := range do {
			if do[j].Op == ir.Put && !f(&do[j]) {
				return false
			}
		}
	}
	return true
}

// values returns the terms of the ranks whose programs were made, each once. It returns nil if they
// are not as they should be, or if ranks fold different terms for one chunk.
func (b *bareForm) values() *values {
	b.v.sort()
	if !b.v.right(b.h) {
		return nil
	}
	return b.v
}

// programs returns a function that makes bare programs, each in the memory of the one before. For a
// rank without one it returns a program of no rank.
func (b *bareForm) programs() func(rank int) ir.Program {
	s := &stripper{bareForm: b, program: b.maker()}
	return func(rank int) ir.Program {
		p := s.program(rank)
		if bare, ok := s.strip(rank, &p); ok {
			s.fold(rank, &p)
			return bare
		}
		return ir.Program{Rank: -1}
	}
}

// stripper makes bare programs, one after the other.
type stripper struct {
	*bareForm
	program func(rank int) ir.Program

	rules []ir.Rule // of the bare program, with its lists
	slots []ir.Slot
	acts  []ir.Action
	puts  int // contributions that it has put

	// By partial result.
	came  []int32       // the put that brings it, -1: none
	by    []int32       // the rule that folds it, -1: none so far
	of    [][]ir.Action // its operands
	read  []bool        // a fold reads it
	given []int32       // the last rule that waits for it, plus one
	seen  []int32       // the last of times at which it was met
	tree  []tree

	used  []int32 // by rule: likewise
	times int32   // how often slots were collected
	todo  []ir.Slot
	leaf  []ir.Slot
}

// strip returns the bare program of a rank. ok is false if there is none.
func (s *stripper) strip(rank int, p *ir.Program) (bare ir.Program, ok bool) {
	if !p.Recovery.IsNone() || !s.begin(rank, p) {
		return bare, false
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		if len(r.When) == 0 || len(r.Do) == 0 || r.IsRepair() || r.After != 0 || !s.waits(int32(i), r.When) {
			return bare, false
		}
		if r.Do[0].Op == ir.Fold && r.Do[0].As.Kind() == ir.KindValue {
			ok = s.partial(int32(i), r)
		} else {
			ok = s.keep(rank, p, int32(i), r)
		}
		if !ok {
			return bare, false
		}
	}
	for v := range p.Values {
		if s.came[v] < 0 && (s.by[v] < 0 || !s.read[v] || s.used[s.by[v]] == 0) {
			return bare, false
		}
	}
	from := len(s.slots)
	for _, d := range p.Done {
		if d.Kind() == ir.KindValue {
			if d.Index() >= p.Values || s.came[d.Index()] < 0 {
				return bare, false
			}
			d = ir.Value(int(s.came[d.Index()]))
		}
		s.slots = append(s.slots, d)
	}
	return ir.Program{Rank: p.Rank, Signals: p.Signals, Values: len(s.to), Rules: s.rules, Done: s.slots[from:]}, s.puts == len(s.to)
}

// begin prepares for a program. It reports whether each put of a contribution to the rank sets a
// partial result of its own.
func (s *stripper) begin(rank int, p *ir.Program) bool {
	n := p.Values
	if n < 0 || n > ir.MaxValues {
		return false
	}
	s.rules, s.slots, s.acts, s.puts = s.rules[:0], s.slots[:0], s.acts[:0], 0
	s.came, s.by, s.given, s.seen = refilled(s.came, n, -1), refilled(s.by, n, -1), refilled(s.given, n, 0), refilled(s.seen, n, 0)
	s.used, s.times = refilled(s.used, len(p.Rules), 0), 0
	s.of, s.tree, s.read = slices.Grow(s.of[:0], n)[:n], slices.Grow(s.tree[:0], n)[:n], slices.Grow(s.read[:0], n)[:n]
	clear(s.read)
	for m, to := range s.to {
		v := s.as[s.v.mod(int32(rank)-to)][m]
		if int(v) >= n || s.came[v] >= 0 {
			return false
		}
		s.came[v] = int32(m)
	}
	return true
}

// refilled returns n times v, in the memory of a if it has room.
func refilled(a []int32, n int, v int32) []int32 {
	a = slices.Grow(a[:0], n)[:n]
	for i := range a {
		a[i] = v
	}
	return a
}

// waits notes for which partial results a rule waits. It reports whether each of them comes from
// another rank or is folded by a rule before this one. So no rules wait for each other.
func (s *stripper) waits(rule int32, when []ir.Slot) bool {
	for _, w := range when {
		if w.Kind() != ir.KindValue {
			continue
		}
		v := w.Index()
		if v >= len(s.came) || s.came[v] < 0 && s.by[v] < 0 {
			return false
		}
		s.given[v] = rule + 1
	}
	return true
}

// partial notes the folds of a rule that folds only partial results.
func (s *stripper) partial(rule int32, r *ir.Rule) bool {
	for left := r.Do; len(left) > 0; {
		fold := ir.MessageOf(left)
		left = left[len(fold):]
		if !s.operands(rule, r, fold) || fold[0].As.Kind() != ir.KindValue {
			return false
		}
		v := fold[0].As.Index()
		if v >= len(s.came) || s.came[v] >= 0 || s.by[v] >= 0 {
			return false
		}
		s.by[v], s.of[v] = rule, fold
	}
	return true
}

// operands reports whether a rule has what it folds, contributions and partial results.
func (s *stripper) operands(rule int32, r *ir.Rule, fold []ir.Action) bool {
	for i := range fold {
		a := &fold[i]
		if a.Op != ir.Fold || a.Joins != (i > 0) || a.To != 0 || a.As != fold[0].As {
			return false
		}
		switch a.Slot.Kind() {
		case ir.KindInput:
			if !contains(r.When, ir.Enter) {
				return false
			}
		case ir.KindValue:
			if a.Slot.Index() >= len(s.given) || s.given[a.Slot.Index()] != rule+1 {
				return false
			}
			s.read[a.Slot.Index()] = true
		default:
			return false
		}
	}
	return true
}

// keep adds the bare form of a rule that puts, or folds chunks.
func (s *stripper) keep(rank int, p *ir.Program, rule int32, r *ir.Rule) bool {
	from := len(s.slots)
	s.upon(p, r.When)
	slices.Sort(s.slots[from:])
	s.slots = s.slots[:from+len(slices.Compact(s.slots[from:]))]
	when := s.slots[from:]
	entered := when[0] != ir.Enter || contains(r.When, ir.Enter)
	first := len(s.acts)
	for left := r.Do; len(left) > 0; {
		message := ir.MessageOf(left)
		left = left[len(message):]
		if message[0].Op == ir.Fold {
			if !s.operands(rule, r, message) || !s.leaves(message) {
				return false
			}
			continue
		}
		for _, a := range message {
			kind := a.Slot.Kind()
			switch {
			case a.Op != ir.Put || kind != ir.KindSignal && !entered:
				return false
			case kind == ir.KindInput && a.As.Kind() == ir.KindValue && s.puts < len(s.to):
				a.As = ir.Value(s.puts)
				s.puts++
			case kind != ir.KindChunk && kind != ir.KindSignal || a.As != ir.None:
				return false
			}
			s.acts = append(s.acts, a)
		}
	}
	s.rules = append(s.rules, ir.Rule{When: when, Do: s.acts[first:]})
	return true
}

// upon adds the slots for which a rule waits, and for which the rules wait that fold these.
func (s *stripper) upon(p *ir.Program, when []ir.Slot) {
	s.times++
	s.todo = append(s.todo[:0], when...)
	for len(s.todo) > 0 {
		w := s.todo[len(s.todo)-1]
		s.todo = s.todo[:len(s.todo)-1]
		if w.Kind() != ir.KindValue {
			s.slots = append(s.slots, w)
		} else if came := s.came[w.Index()]; came >= 0 {
			s.slots = append(s.slots, ir.Value(int(came)))
		} else if by := s.by[w.Index()]; s.used[by] != s.times {
			s.used[by] = s.times
			s.todo = append(s.todo, p.Rules[by].When...)
		}
	}
}

// leaves adds the fold of a chunk from all leaves of its tree. It reports whether they are
// different contributions to the chunk.
func (s *stripper) leaves(fold []ir.Action) bool {
	made := fold[0].As
	if made.Kind() != ir.KindChunk || made.Index() >= s.h.Chunks {
		return false
	}
	s.times++
	s.todo, s.leaf = s.todo[:0], s.leaf[:0]
	for _, a := range fold {
		s.todo = append(s.todo, a.Slot)
	}
	own := false
	for len(s.todo) > 0 {
		x := s.todo[len(s.todo)-1]
		s.todo = s.todo[:len(s.todo)-1]
		if x.Kind() == ir.KindInput {
			if own || x.Index() != s.h.InputOf(made.Index()) {
				return false
			}
			own, s.leaf = true, append(s.leaf, x)
			continue
		}
		v := x.Index()
		if s.seen[v] == s.times {
			return false
		}
		if s.seen[v] = s.times; s.came[v] >= 0 {
			s.leaf = append(s.leaf, ir.Value(int(s.came[v])))
			continue
		}
		for _, a := range s.of[v] {
			s.todo = append(s.todo, a.Slot)
		}
	}
	slices.Sort(s.leaf)
	for i, x := range s.leaf {
		s.acts = append(s.acts, ir.Action{Op: ir.Fold, Joins: i > 0, Slot: x, As: made})
	}
	return true
}

// fold computes the trees of a rank whose program has been stripped.
func (s *stripper) fold(rank int, p *ir.Program) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range p.Rules {
		for left := p.Rules[i].Do; len(left) > 0; {
			fold := ir.MessageOf(left)
			left = left[len(fold):]
			if fold[0].Op != ir.Fold {
				continue
			}
			t := s.treeOf(rank, fold[0].Slot)
			for _, a := range fold[1:] {
				next := s.treeOf(rank, a.Slot)
				t = s.v.fold(term{node: t.node, shift: t.shift}, term{node: next.node, shift: next.shift}).tree()
			}
			if made := fold[0].As; made.Kind() == ir.KindValue {
				s.tree[made.Index()] = t
			} else {
				s.v.add(rank, made, term{t.node, t.shift, int32(s.h.InputOf(made.Index()))})
			}
		}
	}
}

// treeOf returns the tree of an operand.
func (s *stripper) treeOf(rank int, x ir.Slot) tree {
	if x.Kind() == ir.KindInput {
		return tree{rankNode, int32(rank)}
	}
	if came := s.came[x.Index()]; came >= 0 {
		return tree{rankNode, s.v.mod(int32(rank) - s.to[came])}
	}
	return s.tree[x.Index()]
}
