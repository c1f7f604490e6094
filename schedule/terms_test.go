package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
)

// A second evaluation of schedules that fold, independent of package verify. It runs the programs
// of all ranks in some order of events with terms instead of bytes, and then examines the terms.

// term is a contribution, or a fold of two terms.
type term struct{ left, right *term }

// leaf is a contribution, or a chunk that a rank holds at enter. For such a chunk, rank is held.
type leaf struct{ rank, part int }

const held = -1

// place is a slot of a rank.
type place struct {
	rank int
	slot ir.Slot
}

// world is a run of a schedule.
type world struct {
	s      *ir.Schedule
	rand   *rand.Rand
	lost   bool // all multicasts are lost
	mcasts bool // some rank multicasts
	values map[place]*term
	leaves map[*term]leaf
	inputs map[leaf]*term
	folds  map[[2]*term]*term // equal folds are one term
	given  map[place]bool     // slots that are set, with bytes or without
	rules  []rule
	waits  map[place][]int // the rules that wait for a slot
	ready  []int           // rules that may fire
	flying []flight
}

// rule is a rule of a rank.
type rule struct {
	*ir.Rule
	rank, missing int
	fired         bool
}

// flight is a slot on its way.
type flight struct {
	to    place
	value *term
	cast  bool // by multicast or a repair: the destination may have it already
}

// run runs a schedule to its end. The error describes the first fault.
func (w *world) run() error {
	w.values, w.leaves, w.inputs = map[place]*term{}, map[*term]leaf{}, map[leaf]*term{}
	w.folds, w.given, w.waits = map[[2]*term]*term{}, map[place]bool{}, map[place][]int{}
	w.rules, w.ready, w.flying = nil, nil, nil
	w.mcasts = slices.ContainsFunc(w.s.Programs[0].Rules, func(r ir.Rule) bool {
		return slices.ContainsFunc(r.Do, func(a ir.Action) bool { return a.Op == ir.Mcast })
	})
	for rank := range w.s.Programs {
		p := &w.s.Programs[rank]
		for i := range p.Rules {
			r := rule{Rule: &p.Rules[i], rank: rank, missing: len(p.Rules[i].When)}
			for _, slot := range r.When {
				w.waits[place{rank, slot}] = append(w.waits[place{rank, slot}], len(w.rules))
			}
			w.rules = append(w.rules, r)
		}
	}
	for _, rank := range w.rand.Perm(w.s.Ranks) {
		w.flying = append(w.flying, flight{to: place{rank, ir.Enter}})
	}
	var repairs []int
	for {
		switch n := len(w.ready) + len(w.flying); {
		case n > 0:
			i := w.rand.IntN(n)
			if i < len(w.flying) {
				f := w.flying[i]
				w.flying[i] = w.flying[len(w.flying)-1]
				w.flying = w.flying[:len(w.flying)-1]
				if err := w.arrive(f); err != nil {
					return err
				}
				continue
			}
			i -= len(w.flying)
			id := w.ready[i]
			w.ready[i] = w.ready[len(w.ready)-1]
			w.ready = w.ready[:len(w.ready)-1]
			if w.rules[id].IsRepair() {
				repairs = append(repairs, id)
				continue
			}
			if err := w.fire(id); err != nil {
				return err
			}
		case len(repairs) > 0:
			id := repairs[0]
			repairs = repairs[1:]
			if r := &w.rules[id]; !w.given[place{r.rank, r.Unless}] {
				if err := w.fire(id); err != nil {
					return err
				}
			}
		default:
			return w.look()
		}
	}
}

// set sets a slot.
func (w *world) set(to place, value *term) {
	w.given[to] = true
	w.values[to] = value
	if to.slot == ir.Enter {
		chunks := w.s.Held(to.rank)
		for k := range chunks.All() {
			w.set(place{to.rank, ir.Chunk(k)}, w.leaf(leaf{held, k}))
		}
	}
	for _, id := range w.waits[to] {
		if w.rules[id].missing--; w.rules[id].missing == 0 {
			w.ready = append(w.ready, id)
		}
	}
}

func (w *world) arrive(f flight) error {
	if w.given[f.to] {
		if f.cast && w.values[f.to] == f.value {
			return nil
		}
		return fmt.Errorf("%v of rank %d comes twice", f.to.slot, f.to.rank)
	}
	w.set(f.to, f.value)
	return nil
}

// use returns the term of a slot that a rule uses.
func (w *world) use(r *rule, slot ir.Slot) (*term, error) {
	needs := []ir.Slot{slot}
	if slot.Kind() == ir.KindInput {
		needs[0] = ir.Enter
		for k := range w.s.QuestionChunks() {
			needs = append(needs, ir.Chunk(k))
		}
	}
	for _, need := range needs {
		if need.Kind() == ir.KindChunk && w.s.Holds(r.rank, need.Index()) {
			need = ir.Enter
		}
		if !slices.Contains(r.When, need) {
			return nil, fmt.Errorf("rank %d uses %v in a rule that waits for %v", r.rank, slot, r.When)
		}
	}
	if slot.Kind() != ir.KindInput {
		return w.values[place{r.rank, slot}], nil
	}
	if slot.Index() >= w.s.InputChunks() {
		return nil, fmt.Errorf("rank %d has no %v", r.rank, slot)
	}
	return w.leaf(leaf{r.rank, slot.Index()}), nil
}

// leaf returns the term of a leaf, always the same one.
func (w *world) leaf(l leaf) *term {
	if w.inputs[l] == nil {
		w.inputs[l] = &term{}
		w.leaves[w.inputs[l]] = l
	}
	return w.inputs[l]
}

func (w *world) fire(id int) error {
	r := &w.rules[id]
	if r.fired {
		return fmt.Errorf("a rule of rank %d fires twice", r.rank)
	}
	r.fired = true
	for do := r.Do; len(do) > 0; {
		message := ir.MessageOf(do)
		do = do[len(message):]
		var folded *term
		for i, a := range message {
			if a.Slot.Kind() == ir.KindSignal {
				w.flying = append(w.flying, flight{to: place{int(a.To), a.Slot}})
				continue
			}
			value, err := w.use(r, a.Slot)
			if err != nil {
				return err
			}
			switch {
			case a.Op == ir.Put && a.To == int32(r.rank):
				return fmt.Errorf("rank %d puts to itself", r.rank)
			case a.Op == ir.Put:
				w.flying = append(w.flying, flight{place{int(a.To), a.Sets()}, value, w.mcasts && a.As == ir.None})
			case a.Op == ir.Mcast && !w.lost:
				for to := range w.s.Ranks {
					if to != r.rank {
						w.flying = append(w.flying, flight{place{to, a.Slot}, value, true})
					}
				}
			case a.Op == ir.Fold && i == 0:
				folded = value
			case a.Op == ir.Fold:
				pair := [2]*term{folded, value}
				if w.folds[pair] == nil {
					w.folds[pair] = &term{folded, value}
				}
				folded = w.folds[pair]
			}
		}
		if folded != nil {
			made := place{r.rank, message[0].As}
			if w.given[made] {
				return fmt.Errorf("rank %d folds %v twice", r.rank, made.slot)
			}
			w.set(made, folded)
		}
	}
	return nil
}

// look returns what is wrong when nothing moves any more.
func (w *world) look() error {
	for i := range w.rules {
		if r := &w.rules[i]; !r.fired && !r.IsRepair() && !isAnswer(*r.Rule) {
			return fmt.Errorf("rank %d never has %v", r.rank, r.When)
		}
	}
	results := map[int]*term{}
	for at, value := range w.values {
		if at.slot.Kind() == ir.KindValue && at.slot.Index() >= w.s.Programs[at.rank].Values {
			return fmt.Errorf("rank %d has no %v", at.rank, at.slot)
		}
		if at.slot.Kind() != ir.KindChunk {
			continue
		}
		k := at.slot.Index()
		if results[k] == nil {
			results[k] = value
		}
		if results[k] != value {
			return fmt.Errorf("two terms of c%d", k)
		}
	}
	for k, value := range results {
		if err := w.lookAt(k, value); err != nil {
			return err
		}
	}
	for rank := range w.s.Programs {
		if err := w.lookAtRank(rank); err != nil {
			return err
		}
	}
	return nil
}

// order returns the ranks whose contributions a term has, from left to right.
func (w *world) order(t *term, part int) (ranks []int, err error) {
	if l, ok := w.leaves[t]; ok {
		if l.part != part {
			return nil, fmt.Errorf("x%d of rank %d where x%d belongs", l.part, l.rank, part)
		}
		return []int{l.rank}, nil
	}
	if ranks, err = w.order(t.left, part); err != nil {
		return nil, err
	}
	more, err := w.order(t.right, part)
	return append(ranks, more...), err
}

// lookAt returns what is wrong with the term of chunk k.
func (w *world) lookAt(k int, value *term) error {
	if w.s.FoldedRanks(k) == 0 {
		if w.leaves[value] != (leaf{held, k}) {
			return fmt.Errorf("c%d is not what its holder has", k)
		}
		return nil
	}
	ranks, err := w.order(value, w.s.InputOf(k))
	if err != nil {
		return fmt.Errorf("c%d: %w", k, err)
	}
	slices.Sort(ranks)
	for rank := range w.s.FoldedRanks(k) {
		if rank >= len(ranks) || ranks[rank] != rank {
			return fmt.Errorf("c%d has the contributions of %v", k, ranks)
		}
	}
	if len(ranks) != w.s.FoldedRanks(k) {
		return fmt.Errorf("c%d has the contributions of %v", k, ranks)
	}
	return nil
}

// lookAtRank returns what is wrong with the slots of a rank.
func (w *world) lookAtRank(rank int) error {
	p := &w.s.Programs[rank]
	wanted := w.s.Wanted(rank)
	var done []ir.Slot
	for k := range wanted.All() {
		if !w.s.Holds(rank, k) {
			done = append(done, ir.Chunk(k))
		}
		if !w.given[place{rank, ir.Chunk(k)}] {
			return fmt.Errorf("rank %d wants c%d", rank, k)
		}
	}
	if len(p.Done) < len(done) || !slices.Equal(p.Done[:len(done)], done) || len(p.Done) == 0 {
		return fmt.Errorf("rank %d is done with %v", rank, p.Done)
	}
	for _, slot := range p.Done {
		if !w.given[place{rank, slot}] {
			return fmt.Errorf("rank %d waits for %v for ever", rank, slot)
		}
	}
	read := map[ir.Slot]bool{}
	for _, r := range p.Rules {
		for _, a := range r.Do {
			read[a.Slot] = true
		}
	}
	for i := range p.Values {
		if v := ir.Value(i); !w.given[place{rank, v}] || !read[v] {
			return fmt.Errorf("rank %d: %v is set: %v, is used: %v", rank, v, w.given[place{rank, v}], read[v])
		}
	}
	return nil
}

// isResult reports whether slot is a chunk into which contributions are folded.
func (w *world) isResult(slot ir.Slot) bool {
	return slot.Kind() == ir.KindChunk && w.s.FoldedRanks(slot.Index()) > 0
}

// inOrder reports whether all results are folded in the order of the ranks.
func (w *world) inOrder() bool {
	for at, value := range w.values {
		if w.isResult(at.slot) {
			if ranks, _ := w.order(value, w.s.InputOf(at.slot.Index())); !slices.IsSorted(ranks) {
				return false
			}
		}
	}
	return true
}

// shape spells the tree of a term with its ranks, without part numbers.
func (w *world) shape(t *term) string {
	if l, ok := w.leaves[t]; ok {
		return fmt.Sprint(l.rank)
	}
	return "(" + w.shape(t.left) + " " + w.shape(t.right) + ")"
}

// shapes returns the trees of all results.
func (w *world) shapes() (all []string) {
	for at, value := range w.values {
		if w.isResult(at.slot) {
			if s := w.shape(value); !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// makers has the rules that set each slot.
type makers struct {
	s     *ir.Schedule
	first []int    // by rank: the number of its first slot
	by    [][]rule // by the number of a slot
	folds [][]rule // by chunk: the rules that fold it, at any rank
	must  []int    // by the number of a slot: the last question in which it must be set
	asked int      // number of questions
}

func makersOf(s *ir.Schedule) *makers {
	m := &makers{s: s, folds: make([][]rule, s.Chunks)}
	slots := 0
	for r := range s.Programs {
		m.first = append(m.first, slots)
		slots += 1 + s.Chunks + s.Programs[r].Signals + s.Programs[r].Values
	}
	m.by, m.must = make([][]rule, slots), make([]int, slots)
	for r := range s.Programs {
		for i := range s.Programs[r].Rules {
			a := &s.Programs[r].Rules[i]
			if a.IsRepair() || isAnswer(*a) {
				continue
			}
			for _, act := range a.Do {
				switch {
				case act.Op == ir.Fold && !act.Joins:
					m.add(place{r, act.As}, rule{Rule: a, rank: r})
					if act.As.Kind() == ir.KindChunk {
						k := act.As.Index()
						m.folds[k] = append(m.folds[k], rule{Rule: a, rank: r})
					}
				case act.Op == ir.Put:
					m.add(place{int(act.To), act.Sets()}, rule{Rule: a, rank: r})
				}
			}
		}
	}
	return m
}

func (m *makers) add(at place, r rule) {
	id := m.number(at)
	m.by[id] = append(m.by[id], r)
}

// number returns the number of a slot.
func (m *makers) number(at place) int {
	p := &m.s.Programs[at.rank]
	switch i := m.first[at.rank] + 1 + at.slot.Index(); at.slot.Kind() {
	case ir.KindChunk:
		return i
	case ir.KindSignal:
		return i + m.s.Chunks
	case ir.KindValue:
		return i + m.s.Chunks + p.Signals
	}
	return m.first[at.rank] // enter
}

// mustBe records that a slot is set, and so is what must have been set before.
func (m *makers) mustBe(at place) {
	id := m.number(at)
	if m.must[id] == m.asked {
		return
	}
	m.must[id] = m.asked
	by := m.by[id]
	if len(by) != 1 {
		by = nil
		if at.slot.Kind() == ir.KindChunk {
			by = m.folds[at.slot.Index()]
		}
	}
	if len(by) == 1 {
		for _, slot := range by[0].When {
			m.mustBe(place{by[0].rank, slot})
		}
	}
}

// waits reports whether a rule of a rank may still wait for a slot.
func (m *makers) waits(r *ir.Rule, rank int) bool {
	return slices.ContainsFunc(r.When, func(slot ir.Slot) bool { return m.must[m.number(place{rank, slot})] != m.asked })
}

// returnsTooSoon returns a rule that need not have fired when the rank has all its done slots, or
// nil if there is none.
func (m *makers) returnsTooSoon(rank int, done []ir.Slot) *ir.Rule {
	m.asked++
	m.mustBe(place{rank, ir.Enter})
	for _, slot := range done {
		m.mustBe(place{rank, slot})
	}
	rules := m.s.Programs[rank].Rules
	for again := true; again; {
		again = false
		for i := range rules {
			if rules[i].IsRepair() || isAnswer(rules[i]) || m.waits(&rules[i], rank) {
				continue
			}
			for _, a := range rules[i].Do {
				if made := (place{rank, a.As}); a.Op == ir.Fold && m.must[m.number(made)] != m.asked {
					again = true
					m.mustBe(made)
				}
			}
		}
	}
	for i := range rules {
		if !rules[i].IsRepair() && !isAnswer(rules[i]) && m.waits(&rules[i], rank) {
			return &rules[i]
		}
	}
	return nil
}

// requireFolds compares a schedule with the row of its collective and with its promises.
func requireFolds(t require.TestingT, spec *Spec, seed uint64) *world {
	s := spec.Schedule()
	label := fmt.Sprintf("%s %+v", spec.alg.Name, spec.params)
	require.NoError(t, ir.Validate(s), label)
	w := &world{s: s, rand: newRand(seed)}
	if spec.alg.Multicasts() {
		w.lost = true
		require.NoError(t, w.run(), label+", all multicasts lost")
		w.lost = false
	}
	require.NoError(t, w.run(), label)
	require.False(t, spec.RankOrder() && !w.inOrder(), "%s: not in the order of the ranks", label)
	makers, step := makersOf(s), 1+s.Ranks/12*3
	for rank := int(seed) % step; rank < s.Ranks; rank += step {
		done := s.Programs[rank].Done
		require.Nil(t, makers.returnsTooSoon(rank, done), "%s rank %d done %v: returns before a rule", label, rank, done)
		wanted := s.Wanted(rank)
		if spec.alg.acked || len(done) == 1 || spec.alg.Name == "reduce/two-tree" { // leaves that wait make some waiting needless
			continue
		}
		for i := wanted.Len(); i < len(done); i++ {
			require.NotNil(t, makers.returnsTooSoon(rank, slices.Delete(slices.Clone(done), i, i+1)),
				"%s rank %d done %v: need not wait for %v", label, rank, done, done[i])
		}
	}
	return w
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// foldingAlgorithms returns the algorithms of collectives that fold.
func foldingAlgorithms() []Algorithm {
	return slices.DeleteFunc(Algorithms(), func(a Algorithm) bool { return a.Row().Inputs == nil })
}

// foldings returns parameters of every kind.
func foldings(alg *Algorithm, ranks int) (all []Params) {
	roots := 1
	if alg.Row().Rooted {
		roots = ranks
	}
	degrees := []int{0}
	if slices.Contains(alg.Params, "degree") {
		degrees = []int{0, 2, 4, 5, 40}
	}
	p2, _ := powerBelow(ranks)
	chunks := []int{0, 1, 2, 3, p2 + 1, ranks + 2, 2*ranks + 1}
	hosts := []int{0, 1, 2, (ranks + 2) / 3, (ranks + 1) / 2, max(1, ranks-1), ranks}
	if alg.Row().Blocks(2) > 1 {
		chunks = []int{0, 2, 3}
	}
	for i, degree := range degrees {
		for root := range roots {
			for j, h := range hosts {
				f := chunks[(root+i+j+ranks)%len(chunks)]
				all = append(all, Params{Ranks: ranks, Root: root, Hosts: min(h, ranks), Degree: degree, Chunks: f})
				if root == 0 {
					all = append(all, Params{Ranks: ranks, Hosts: min(h, ranks), Degree: degree, Chunks: chunks[j%len(chunks)]})
				}
			}
		}
	}
	if roots > 9 {
		all = slices.DeleteFunc(all, func(p Params) bool {
			return p.Root > 3 && p.Root < ranks-2 && !heavy.Tests() && (p.Root+p.Hosts)%7 != 0
		})
	}
	return all
}

// taken returns p without the parameters that an algorithm does not take.
func taken(alg *Algorithm, p Params) Params {
	if !alg.Row().Rooted {
		p.Root = 0
	}
	if !slices.Contains(alg.Params, "chunks") {
		p.Chunks = 0
	}
	if !slices.Contains(alg.Params, "hosts") {
		p.Hosts = 0
	}
	return p
}

// TestTerms runs every algorithm that folds.
func TestTerms(t *testing.T) {
	for _, alg := range foldingAlgorithms() {
		t.Run(alg.Name, func(t *testing.T) {
			t.Parallel()
			for ranks := 1; ranks <= 33; ranks++ {
				if ranks > 9 && ranks != 13 && ranks != 16 && ranks != 33 && !heavy.Tests() {
					continue
				}
				for i, p := range foldings(&alg, ranks) {
					if ranks > 7 && i%5 != ranks%5 && !heavy.Tests() {
						continue
					}
					s, err := New(alg.Name, taken(&alg, p))
					require.NoError(t, err)
					requireFolds(t, s, uint64(i))
				}
			}
		})
	}
}
