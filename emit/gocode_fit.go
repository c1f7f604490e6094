package emit

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// fitter finds what the numbers of one role are.
type fitter struct {
	*finder
	*role
	codes  []*goCode
	envs   []env
	cores  []*expr   // formulas that have been found
	failed []*sought // what no formula has been found for, in the current segment
	apart  bool      // look for ranks that had better be a role of their own
	odd    []int     // such ranks
}

// fit makes a role of ranks and finds its formulas. What is no formula comes
// into the role's table, unless it is one for nearly all ranks and apart is
// set: then fit returns the places of the odd ones in p instead of a role.
func fit(f *finder, s *ir.Schedule, p part, apart bool) (ro *role, odd []int) {
	ro = &role{goCode: p.codes[0], ranks: p.ranks}
	ro.conditions(s, p.codes)
	findWhole(p.codes)
	t := &fitter{finder: f, role: ro, codes: p.codes, apart: apart}
	for _, r := range ro.ranks {
		t.envs = append(t.envs, f.env(r))
	}
	var lists [][]*goNumber
	for _, c := range p.codes {
		lists = append(lists, c.numbers())
	}
	for i, n := range lists[0] {
		t.scalar(n, func(k int) *goNumber { return lists[k][i] })
		if t.odd != nil {
			return nil, t.odd
		}
	}
	for i, family := range ro.families {
		for j := range family.runs {
			t.run(i, j)
		}
	}
	for i := range ro.apart() {
		t.segments(nil, func(c *goCode) *repeat { return c.apart()[i] })
	}
	if t.odd != nil {
		return nil, t.odd
	}
	return ro, nil
}

// ownBases are the rank, however it is counted.
func (t *fitter) ownBases() []base {
	if len(t.ranks) == 1 {
		return nil
	}
	var list []base
	for _, f := range t.frames {
		list = append(list, base{f.own, f})
	}
	return list
}

// scalar finds a number that stands in no loop; at returns it at each rank.
func (t *fitter) scalar(n *goNumber, at func(k int) *goNumber) {
	c := &sought{bases: t.ownBases(), each: func(visit func(sample) bool) {
		for k := range t.codes {
			if m := at(k); !m.free && !visit(sample{t.envs[k], m.at()}) {
				return
			}
		}
	}}
	if !slices.ContainsFunc(seq(len(t.codes)), func(k int) bool { return !at(k).free }) {
		n.expr = lit(n.at())
		return
	}
	if n.expr = t.find(c); n.expr == nil {
		n.expr = t.akin(c)
	}
	if n.expr == nil {
		values := make([]int, len(t.codes))
		for k := range t.codes {
			values[k] = at(k).at()
		}
		t.setApart(c)
		n.expr = t.table.cell(values)
	}
	if e := core(n.expr); e != nil && e.op != opVar && e.op != opCell {
		t.cores = append(t.cores, e)
	}
}

// akin returns the formula of a number that differs by a factor and a summand
// from one that has been found before, nil if it does from none.
func (t *fitter) akin(c *sought) *expr {
	for _, e := range t.cores {
		values := c.valuesOf(e)
		rest := make([]int, len(c.probes))
		for i, s := range c.probes {
			rest[i] = s.value
		}
		a, ok := slope(values, rest, 0, false)
		found := add(mul(lit(a), e), lit(rest[0]-a*values[0]))
		if ok && a > 0 {
			c.each(func(s sample) bool {
				ok = found.right(s)
				return ok
			})
			if ok {
				return found
			}
		}
	}
	return nil
}
