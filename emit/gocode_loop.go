package emit

import "slices"

// loop is one that a number stands in.
type loop struct {
	variable
	times func(c *goCode) *goNumber
}

// run finds the numbers of run j of family i.
func (t *fitter) run(i, j int) {
	of := func(c *goCode) *repeat { return c.families[i].runs[j] }
	nest := []loop{
		{varK, func(c *goCode) *goNumber { return &c.families[i].times }},
		{varJ, func(c *goCode) *goNumber { return &of(c).times }},
	}
	run := of(t.goCode)
	if run.again != nil {
		t.looped("the slots that end its repairs", nest, func(c *goCode) *goNumber { return &of(c).again.unless })
		t.looped("the times after which its repairs are due", nest, func(c *goCode) *goNumber { return &of(c).again.after })
	}
	t.segments(nest, of)
}

// segments finds the numbers of a run's segments.
func (t *fitter) segments(nest []loop, of func(c *goCode) *repeat) {
	run := of(t.goCode)
	run.fitted = nil
	for m := range run.segments {
		run.fitted = append(run.fitted, t.segment(nest, func(c *goCode) *segment { return of(c).segments[m] })...)
	}
}

// looped finds a number that stands in loops, if need be in a list.
func (t *fitter) looped(what string, nest []loop, of func(c *goCode) *goNumber) {
	n := of(t.goCode)
	value := func(c *goCode, i int, _ *env) int { return of(c).values[i] }
	if n.expr = t.searched(nest, t.ownBases(), 0, value); n.expr == nil {
		n.expr = t.listed(what, nest, of)
	}
}

// searched finds a formula for a number in loops, nil if there is none. value
// returns what it is at a rank's pass i, and may add to the environment.
func (t *fitter) searched(nest []loop, bases []base, wrap int, value func(c *goCode, i int, at *env) int) *expr {
	c := &sought{bases: bases, wrap: wrap, each: func(visit func(sample) bool) {
		for k, code := range t.codes {
			at, i := t.envs[k], 0
			if !passes(code, nest, &at, func() bool {
				v := value(code, i, &at)
				i++
				return visit(sample{at, v})
			}) {
				return
			}
		}
	}}
	for _, l := range nest {
		if slices.ContainsFunc(t.codes, func(c *goCode) bool { return l.times(c).at() > 1 }) {
			c.loops = append(c.loops, l.variable)
		}
	}
	e := t.find(c)
	if e == nil {
		t.failed = append(t.failed, c)
		return nil
	}
	return e.put(varTimes, nest[len(nest)-1].times(t.goCode).expr)
}

// passes goes through the loops of a rank until visit returns false, and
// returns what it last returned.
func passes(c *goCode, nest []loop, at *env, visit func() bool) bool {
	if len(nest) == 0 {
		return visit()
	}
	times := nest[0].times(c).at()
	at.vars[varTimes] = times
	for i := range times {
		at.vars[nest[0].variable] = i
		if !passes(c, nest[1:], at, visit) {
			return false
		}
	}
	at.vars[nest[0].variable] = 0
	return true
}

// listed makes a list for each rank of a number in loops.
func (t *fitter) listed(what string, nest []loop, of func(c *goCode) *goNumber) *expr {
	index := lit(0)
	for _, l := range nest {
		index = add(mul(index, l.times(t.goCode).expr), variableOf(l.variable))
	}
	for _, l := range nest {
		if l.times(t.goCode).expr.is(1) {
			index = index.put(l.variable, lit(0))
		}
	}
	var rows [][]int
	var values []int
	for _, c := range t.codes {
		rows = append(rows, of(c).values)
		values = append(values, of(c).values[0])
	}
	if index.is(0) {
		return t.table.cell(values)
	}
	return t.table.list(what, rows, index)
}
