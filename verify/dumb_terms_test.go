package verify

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
)

// maxDumbTerms bounds the terms of one slot before the dumb checker gives up.
const maxDumbTerms = 8

// dumbTerms are all terms that slots can have, as text: "(0.1·1.1)" is the part x1 of rank 0,
// folded with the part x1 of rank 1.
type dumbTerms struct {
	s     *ir.Schedule
	of    map[Place]map[string]bool
	made  map[Place]map[string]bool // by folds
	vague bool                      // some slot has more than one term, or too many to tell
}

func newDumbTerms(d *dumb) *dumbTerms {
	s := d.s
	dt := &dumbTerms{s: s, of: map[Place]map[string]bool{}, made: map[Place]map[string]bool{}}
	for r := range s.Programs {
		for k := range s.InputChunks() {
			dt.add(dt.of, place(r, ir.Input(k)), strconv.Itoa(r)+"."+strconv.Itoa(k))
		}
		for k := range s.Chunks {
			if s.Holds(r, k) {
				dt.add(dt.of, place(r, ir.Chunk(k)), "c."+strconv.Itoa(k))
			}
		}
	}
	for again := true; again && !dt.vague; {
		again = false
		for _, r := range d.rules {
			if d.canFire(r) {
				again = dt.act(r.rank, r.Do) || again
			}
		}
	}
	for _, terms := range dt.of {
		dt.vague = dt.vague || len(terms) > 1
	}
	return dt
}

// canFire reports whether a rule fires in some run.
func (d *dumb) canFire(r dumbRule) bool { return d.may()&r.when == r.when }

// may returns everything that is set in some run: everything arrives, and every repair is made.
func (d *dumb) may() uint64 {
	state, before := uint64(0), ^uint64(0)
	for _, e := range d.enter {
		state |= e
	}
	for state != before {
		before = state
		for _, r := range d.rules {
			if state&r.when != r.when {
				continue
			}
			state |= r.folds
			for _, c := range r.casts {
				state |= d.casts[c].bit
			}
			for _, p := range r.puts {
				state |= p.bit
			}
		}
	}
	return state
}

func (dt *dumbTerms) add(to map[Place]map[string]bool, p Place, text string) bool {
	if to[p] == nil {
		to[p] = map[string]bool{}
	}
	if to[p][text] {
		return false
	}
	to[p][text] = true
	dt.vague = dt.vague || len(to[p]) > maxDumbTerms
	return true
}

func (dt *dumbTerms) act(rank int, do []ir.Action) (grown bool) {
	for len(do) > 0 {
		message := ir.MessageOf(do)
		do = do[len(message):]
		if message[0].Op == ir.Fold {
			terms := []string{""}
			for i, a := range message {
				var next []string
				for _, left := range terms {
					for right := range dt.of[place(rank, a.Slot)] {
						if i == 0 {
							next = append(next, right)
						} else {
							next = append(next, "("+left+"·"+right+")")
						}
					}
				}
				terms = next
			}
			for _, text := range terms {
				grown = dt.add(dt.of, place(rank, message[0].As), text) || grown
				dt.add(dt.made, place(rank, message[0].As), text)
			}
			continue
		}
		for _, a := range message {
			for to := range dt.s.Programs {
				if a.Slot.Kind() == ir.KindSignal || a.Op == ir.Put && int(a.To) != to || to == rank {
					continue
				}
				for text := range dt.of[place(rank, a.Slot)] {
					grown = dt.add(dt.of, place(to, a.Sets()), text) || grown
				}
			}
		}
	}
	return grown
}

var dumbLeaf = regexp.MustCompile(`(c|\d+)\.(\d+)`)

// leaves returns the ranks and the parts of a term, in order.
func leaves(text string) (ranks, parts []string) {
	for _, m := range dumbLeaf.FindAllStringSubmatch(text, -1) {
		ranks, parts = append(ranks, m[1]), append(parts, m[2])
	}
	return ranks, parts
}

// dumbShape returns a term without its parts.
func dumbShape(text string) string { return dumbLeaf.ReplaceAllString(text, "$1") }

func (dt *dumbTerms) contributes() bool {
	for p, terms := range dt.made {
		if p.Slot.Kind() != ir.KindChunk {
			continue
		}
		k := p.Slot.Index()
		n := dt.s.FoldedRanks(k)
		for text := range terms {
			if n == 0 {
				if text != "c."+strconv.Itoa(k) {
					return false
				}
				continue
			}
			ranks, parts := leaves(text)
			for _, part := range parts {
				if part != strconv.Itoa(dt.s.InputOf(k)) {
					return false
				}
			}
			if len(ranks) != n {
				return false
			}
			for r := range n {
				if !slices.Contains(ranks, strconv.Itoa(r)) {
					return false
				}
			}
		}
	}
	return true
}

// shapes returns the shapes of a chunk at all ranks that fold it.
func (dt *dumbTerms) shapes(k int) []string {
	all := map[string]bool{}
	for p, terms := range dt.made {
		if p.Slot == ir.Chunk(k) {
			for text := range terms {
				all[dumbShape(text)] = true
			}
		}
	}
	var list []string
	for shape := range all {
		list = append(list, shape)
	}
	return list
}

func (dt *dumbTerms) sameTree() bool {
	for k := range dt.s.Chunks {
		if len(dt.shapes(k)) > 1 {
			return false
		}
	}
	return true
}

func (dt *dumbTerms) rankOrder() bool {
	for p, terms := range dt.made {
		for text := range terms {
			ranks, _ := leaves(text)
			if p.Slot.Kind() == ir.KindChunk && !slices.IsSortedFunc(ranks, func(a, b string) int {
				x, _ := strconv.Atoi(a)
				y, _ := strconv.Atoi(b)
				return x - y
			}) {
				return false
			}
		}
	}
	return true
}

func (dt *dumbTerms) position() bool {
	n := dt.s.InputChunks()
	for k := range dt.s.Chunks {
		if of := dt.shapes(k); len(of) > 0 && !slices.Equal(of, dt.shapes(k/n*n)) {
			return false
		}
	}
	return true
}

// dumbTyped finds out where slots belong by passing the parts to neighbours until nothing changes.
func dumbTyped(s *ir.Schedule) bool {
	known := map[Place]map[int32]bool{}
	tell := func(to, from Place) bool {
		if known[to] == nil {
			known[to] = map[int32]bool{}
		}
		before := len(known[to])
		if kind := from.Slot.Kind(); kind == ir.KindInput || kind == ir.KindChunk {
			known[to][partOf(&s.Header, from.Slot)] = true
		}
		for part := range known[from] {
			known[to][part] = true
		}
		return len(known[to]) > before
	}
	for again := true; again; {
		again = false
		for r, p := range s.Programs {
			for v := range p.Values {
				tell(place(r, ir.Value(v)), place(r, ir.Enter))
			}
			for k := range s.Chunks {
				tell(place(r, ir.Chunk(k)), place(r, ir.Chunk(k)))
			}
			for k := range s.InputChunks() {
				known[place(r, ir.Input(k))] = map[int32]bool{int32(k): true}
			}
			for _, rule := range p.Rules {
				for _, a := range rule.Do {
					if a.Op == ir.Fold {
						again = tell(place(r, a.As), place(r, a.Slot)) || again
						if a.Slot.Kind() != ir.KindInput {
							again = tell(place(r, a.Slot), place(r, a.As)) || again
						} else if len(known[place(r, a.As)]) > 1 {
							return false
						}
					}
				}
			}
		}
	}
	for _, parts := range known {
		if len(parts) != 1 {
			return false
		}
	}
	for r, p := range s.Programs {
		for _, rule := range p.Rules {
			for _, a := range rule.Do {
				if a.As == ir.None || a.Op == ir.Fold {
					continue
				}
				for part := range known[place(r, a.Slot)] {
					if !known[place(int(a.To), a.As)][part] {
						return false
					}
				}
			}
		}
	}
	return true
}

// overlaps reports whether, in a state, a rank has a result in the place of a contribution that is
// still to be read, or whether another rank brings the result that the rank folds.
func (d *dumb) overlaps(state uint64) bool {
	h := &d.s.Header
	for _, r := range d.rules {
		for _, a := range r.Do {
			if a.Op == ir.Fold && a.Slot.Kind() == ir.KindInput && a.As.Kind() == ir.KindChunk && h.InputOf(a.As.Index()) == a.Slot.Index() {
				wanted, c := h.Wanted(r.rank), d.mask(r.rank, a.As)
				if wanted.Has(a.As.Index()) && state&c == 0 && d.brought(state, c) {
					return true
				}
			}
		}
	}
	for _, r := range d.rules {
		for _, a := range r.Do {
			if a.Slot.Kind() != ir.KindInput {
				continue
			}
			for k := range h.Wanted(r.rank).All() {
				c := ir.Chunk(k)
				to := int(a.To)
				if a.Op == ir.Fold {
					to = r.rank
				}
				if h.FoldedRanks(k) > 0 && h.InputOf(k) == a.Slot.Index() && !(a.Op == ir.Fold && a.As == c) &&
					state&d.mask(r.rank, c) != 0 && state&d.mask(to, a.Sets()) == 0 {
					return true
				}
			}
		}
	}
	return false
}

// brought reports whether, in a state, a rank puts or multicasts something to the given bit.
func (d *dumb) brought(state, bit uint64) bool {
	for _, r := range d.rules {
		if state&r.when != r.when || r.IsRepair() && state&r.unless != 0 && state&r.made == 0 {
			continue
		}
		for _, p := range r.puts {
			if p.bit == bit {
				return true
			}
		}
		for _, c := range r.casts {
			if d.casts[c].bit == bit {
				return true
			}
		}
	}
	return false
}

// compareTerms compares the results of both checkers about terms.
func compareTerms(t testing.TB, s *ir.Schedule, d *dumb, bad map[string]error, label string) {
	sub, err := newSubject(s)
	require.NoError(t, err)
	dt := newDumbTerms(d)
	tell := func(err error) string {
		return strings.Join([]string{label, "clever:", errorText(err), text(t, s)}, "\n")
	}
	if bad["wellformed"] != nil {
		return
	}
	require.Equal(t, dt.sameTree(), bad["same-tree"] == nil, tell(bad["same-tree"]))
	if dt.vague { // partial results have one writer, so a vague slot is a chunk
		require.True(t, bad["same-tree"] != nil || bad["typed"] != nil, tell(nil))
		return
	}
	if bad["typed"] != nil || bad["contributes"] != nil || bad["same-tree"] != nil {
		return
	}
	v := sub.values()
	require.Equal(t, dt.rankOrder(), outOfOrder(v) == nil, "rank-order: %s", tell(nil))
	if all, ok := v.results(&s.Header); ok {
		require.Equal(t, dt.position(), firstMoved(all) == nil, "position: %s", tell(nil))
	}
	require.Equal(t, !d.overlapped, sub.overlap() == nil, "in-place: %s", tell(sub.overlap()))
	for _, m := range v.made { // exactly the same trees
		require.Equal(t, []string{strings.ReplaceAll(strings.NewReplacer("·", "").Replace(dt.shapes(m.Slot.Index())[0]), " ", "")},
			[]string{strings.ReplaceAll(v.spell(m.tree()), " ", "")}, tell(nil))
	}
}

func errorText(err error) string {
	if err == nil {
		return "no failure"
	}
	return err.Error()
}
