package emit

import (
	"cmp"
	"slices"
)

// linear looks for a·g + a₁·loop₁ + a₂·loop₂ + … + c, where g is one of the
// forms, modulo wrap if there is one.
func (f *finder) linear(c *sought, forms []*expr, wrap int) *expr {
	steps := c.stepChoices()
	for _, g := range forms {
		values := c.valuesOf(g)
		for i := 0; values != nil && i < len(steps); i++ {
			if e := f.fitted(g, values, steps[i], wrap, c); e != nil {
				return e
			}
		}
		if f.budget < 0 {
			return nil
		}
	}
	return nil
}

// origins are zero and the bases.
func (c *sought) origins() []*expr {
	list := []*expr{lit(0)}
	for _, b := range c.bases {
		list = append(list, variableOf(b.variable))
	}
	return list
}

// valuesOf returns the values of g at the probes, nil if it has none at one.
func (c *sought) valuesOf(g *expr) []int {
	values := make([]int, len(c.probes))
	for i, s := range c.probes {
		if values[i] = g.at(&s.env); s.bad {
			return nil
		}
	}
	return values
}

// stepChoices returns what each pass of the loops may add: 0, 1, or the
// difference of values that are one pass apart.
func (c *sought) stepChoices() [][]int {
	out := [][]int{nil}
	for _, loop := range c.loops {
		choice := []int{0, 1}
		if s := c.steps[loop]; s != nil {
			d := s[1].value - s[0].value
			choice = append(choice, d)
			if c.wrap > 0 {
				choice = append(choice, residue(d, c.wrap), residue(d, c.wrap)-c.wrap)
			}
		}
		slices.Sort(choice)
		choice = slices.Compact(choice)
		slices.SortStableFunc(choice, func(a, b int) int { return cmp.Compare(max(a, -a), max(b, -b)) })
		var next [][]int
		for _, head := range out {
			for _, d := range choice {
				next = append(next, append(slices.Clone(head), d))
			}
		}
		out = next
	}
	return out
}

// fitted returns the formula of g that goes through the probes, if it is right
// everywhere. values are those of g.
func (f *finder) fitted(g *expr, values, steps []int, wrap int, c *sought) *expr {
	f.budget--
	rest := make([]int, len(c.probes)) // of the values without loops
	for i, s := range c.probes {
		rest[i] = s.value
		for j, loop := range c.loops {
			rest[i] -= steps[j] * s.vars[loop]
		}
	}
	a, ok := slope(values, rest, wrap, g.op == opVar)
	if !ok {
		return nil
	}
	e := mul(lit(a), g)
	for j, loop := range c.loops {
		e = add(e, mul(lit(steps[j]), variableOf(loop)))
	}
	return f.shifted(e, rest[0]-a*values[0], wrap, c)
}

// slope returns a such that ys are a·xs + c for some c, modulo wrap if there is
// one.
func slope(xs, ys []int, wrap int, negative bool) (a int, ok bool) {
	for i := range xs {
		dy, dx := ys[i]-ys[0], xs[i]-xs[0]
		if dx == 0 {
			continue
		}
		switch {
		case wrap > 0 && residue(dy-dx, wrap) == 0:
			a = 1
		case wrap > 0 && residue(dy+dx, wrap) == 0:
			a = -1
		case wrap == 0 && dy%dx == 0 && (dy/dx > 0 || negative):
			a = dy / dx
		default:
			return 0, false
		}
		break
	}
	for i := range xs {
		d := ys[i] - ys[0] - a*(xs[i]-xs[0])
		if d != 0 && (wrap == 0 || d%wrap != 0) {
			return 0, false
		}
	}
	return a, true
}

// shifted returns e + by, modulo wrap if there is one, if it is right
// everywhere.
func (f *finder) shifted(e *expr, by, wrap int, c *sought) *expr {
	if wrap == 0 {
		if e = add(e, lit(by)); f.confirmed(e, c) {
			return e
		}
		return nil
	}
	for _, up := range f.lifted(e, residue(by, wrap), wrap) {
		if m := of2(opMod, up, f.number(wrap)); f.confirmed(m, c) {
			return m
		}
	}
	return nil
}

// lifted returns e + by, which is to be taken modulo n, and sums that are n
// more or less written otherwise, since Go's remainder is of e's sign.
func (f *finder) lifted(e *expr, by, n int) []*expr {
	above := add(e, f.number(n))
	ups := []*expr{add(e, lit(by)), add(above, lit(by-n)), add(above, lit(by))}
	if by > n/2 {
		ups[0], ups[1] = ups[1], ups[0]
	}
	return ups
}
