package emit

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// rolesOf returns roles for ranks that can share code: a few ranks may be a role
// apart if all others go by a formula then.
func rolesOf(f *finder, s *ir.Schedule, p part) []*role {
	ro, odd := fit(f, s, p, true)
	if odd == nil {
		return []*role{ro}
	}
	var in, out part
	for i := range p.codes {
		to := &in
		if slices.Contains(odd, i) {
			to = &out
		}
		to.codes, to.ranks = append(to.codes, p.codes[i]), append(to.ranks, p.ranks[i])
	}
	rest, _ := fit(f, s, out, false)
	return append(rolesOf(f, s, in), rest)
}

// One in few of many ranks may be odd.
const many, few = 16, 8

// setApart finds the ranks to set apart: those at which a number is not what it
// would be by a formula that all but few follow.
func (t *fitter) setApart(c *sought) {
	if !t.apart || len(t.codes) < many {
		return
	}
	for _, p := range c.powers() {
		t.setOdd(c, p.plus(1))
	}
	for _, g := range t.formsOf(c) {
		if by, ok := mostly(c.valuesOf(g), c.probes); ok && len(c.loops) == 0 {
			t.setOdd(c, add(g, lit(by)))
		}
	}
}

// setOdd notes the ranks at which e is not right, if they are few and fewer
// than those noted before.
func (t *fitter) setOdd(c *sought, e *expr) {
	wrong := 0
	for _, s := range c.probes {
		wrong += flag(!e.right(s))
	}
	if 2*wrong > len(c.probes) {
		return
	}
	odd := make(map[int]bool) // rank
	c.each(func(s sample) bool {
		if !e.right(s) {
			odd[s.vars[varRank]] = true
		}
		return len(odd) <= len(t.codes)/few
	})
	if len(odd) > len(t.codes)/few || len(odd) == 0 || t.odd != nil && len(odd) >= len(t.odd) {
		return
	}
	t.odd = nil
	for k, r := range t.ranks {
		if odd[r] {
			t.odd = append(t.odd, k)
		}
	}
}

// mostly returns what must be added to values to be those of more than half of
// the samples.
func mostly(values []int, samples []sample) (by int, ok bool) {
	times := make(map[int]int)
	for i := range values {
		by := samples[i].value - values[i]
		if times[by]++; 2*times[by] > len(samples) {
			return by, true
		}
	}
	return 0, false
}
