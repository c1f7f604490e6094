package emit

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// finder looks for formulas. It knows nothing of algorithms: it goes through
// formulas that trees, rings, exchanges and hosts are commonly made of, the
// simplest first, and takes one that is right wherever the number occurs.
type finder struct {
	*layout
	moduli []int        // that formulas divide by
	given  map[int]bool // numbers that the schedule's header makes likely
	frames []*frame
	forms  map[base][]form
	budget int // formulas that may yet be tried
}

// maxTried bounds the work for schedules without any formulas; algorithms need
// a tenth of it.
const maxTried = 1 << 21

func newFinder(s *ir.Schedule) *finder {
	l := layoutOf(s)
	moduli, given := moduliOf(s)
	return &finder{
		layout: l,
		moduli: moduli,
		given:  given,
		frames: l.frames(),
		forms:  make(map[base][]form),
		budget: maxTried,
	}
}

// base is a variable that counts ranks in one way.
type base struct {
	variable
	*frame
}

// sample is what a number is at a rank, at one pass of the loops around it.
type sample struct {
	env
	value int
}

// sought is a number to find a formula for.
type sought struct {
	each  func(visit func(sample) bool) // goes through all samples until visit returns false
	bases []base                        // that the number may depend on, beside loops
	loops []variable                    // likewise
	wrap  int                           // values are residues modulo this; 0: they are not

	// Collected from the samples.
	count  int
	probes []sample              // by which most formulas are ruled out
	steps  map[variable][]sample // two at consecutive passes of the loop
}

// collect chooses the probes: the first sample with each value and others all
// over the rest.
func (c *sought) collect() {
	const values, others = 16, 24
	seen := make(map[int]bool)
	c.count, c.probes, c.steps = 0, nil, make(map[variable][]sample)
	c.each(func(s sample) bool {
		c.count++
		return true
	})
	last := make(map[variable]sample) // with the loops within at their first pass
	i := 0
	c.each(func(s sample) bool {
		fresh := len(seen) < values && !seen[s.value]
		if fresh {
			seen[s.value] = true
		}
		if fresh || i*others/c.count != (i+1)*others/c.count {
			c.probes = append(c.probes, s)
		}
		for k := len(c.loops) - 1; k >= 0; k-- {
			loop := c.loops[k]
			if before, ok := last[loop]; ok && c.steps[loop] == nil && apart(before, s, loop) {
				c.steps[loop] = []sample{before, s}
			}
			last[loop] = s
			if s.vars[loop] != 0 {
				break
			}
		}
		i++
		return true
	})
}

// apart reports whether two samples are of one rank, and of passes that follow
// each other in one loop.
func apart(a, b sample, loop variable) bool {
	b.vars[loop]--
	a.vars[varTo], b.vars[varTo] = 0, 0
	return a.vars == b.vars
}

// find returns a formula for c, one of the simplest, or nil. It is right at
// every sample.
func (f *finder) find(c *sought) *expr {
	c.collect()
	first := c.probes[0].value
	if !slices.ContainsFunc(c.probes, func(s sample) bool { return s.value != first }) {
		return lit(first)
	}
	plain := c.origins()
	for _, search := range []func() *expr{
		func() *expr { return f.linear(c, plain, 0) },
		func() *expr { return f.geometric(c) },
		func() *expr { return f.linear(c, plain, c.wrap) },
		func() *expr { return f.linear(c, f.formsOf(c), 0) },
		func() *expr { return f.rotated(c) },
		func() *expr { return f.linear(c, f.formsOf(c), c.wrap) },
	} {
		if e := search(); e != nil || f.budget < 0 {
			return e
		}
	}
	return nil
}

// confirmed reports whether e is right everywhere, and at so many samples for
// what it is made of that it hardly is by chance.
func (f *finder) confirmed(e *expr, c *sought) bool {
	return f.weight(e) < 2*c.count && f.right(e, c)
}

// right reports whether e is right everywhere.
func (f *finder) right(e *expr, c *sought) bool {
	f.budget--
	for i := range c.probes {
		if !e.right(c.probes[i]) {
			return false
		}
	}
	right := true
	c.each(func(s sample) bool {
		right = e.right(s)
		return right
	})
	return right
}

func (e *expr) right(s sample) bool {
	v := e.at(&s.env)
	return !s.bad && v == s.value
}

// weight is the size of e and more for numbers that might be any, unless all
// they do is to be added.
func (f *finder) weight(e *expr) int {
	w := e.size()
	if c := core(e); c == nil || c.op != opVar || e.op == opMul || e.args != nil && e.args[0].op == opMul {
		w += 3 * f.arbitrary(e)
	}
	return w
}

// arbitrary counts the literals in e that are neither 0 or 1 nor parameters of
// the schedule or powers of one.
func (f *finder) arbitrary(e *expr) int {
	n := flag(e.op == opLit && !f.given[e.n])
	for _, a := range e.args {
		n += f.arbitrary(a)
	}
	return n
}

// number returns n, spelled by the number of ranks where it is that or one
// less.
func (f *finder) number(n int) *expr {
	switch n {
	case f.ranks:
		return &expr{op: opRanks}
	case f.ranks - 1:
		return sub(&expr{op: opRanks}, lit(1))
	}
	return lit(n)
}
