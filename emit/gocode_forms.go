package emit

import (
	"cmp"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// moduliOf returns what formulas divide by, powers of two, of the parameters
// and so on, and which of them the header gives.
func moduliOf(s *ir.Schedule) (list []int, given map[int]bool) {
	given = map[int]bool{0: true, 1: true}
	add := func(n int, isGiven bool) {
		if n > 1 && n <= s.Ranks {
			list = append(list, n)
			given[n] = given[n] || isGiven
		}
	}
	powers := func(base int, isGiven bool) {
		for n := base; base > 1 && n <= s.Ranks; n *= base {
			add(n, isGiven)
		}
	}
	powers(2, false)
	add(3, false)
	for _, p := range s.Params {
		powers(p.Value, true)
		add(p.Value-1, true)
	}
	add(s.Ranks-1, true)
	add(s.Ranks, true)
	slices.Sort(list)
	return slices.Compact(list), given
}

// form is a formula to try, and what counts against it.
type form struct {
	*expr
	weight int
}

// formsOf returns the forms of all bases of c, the likeliest first.
func (f *finder) formsOf(c *sought) []*expr {
	var list []form
	for _, b := range c.bases {
		if f.forms[b] == nil {
			for _, e := range f.formsIn(b) {
				f.forms[b] = append(f.forms[b], form{e, f.weight(e)})
			}
		}
		list = append(list, f.forms[b]...)
	}
	slices.SortStableFunc(list, func(a, b form) int { return cmp.Compare(a.weight, b.weight) })
	out := make([]*expr, len(list))
	for i := range list {
		out[i] = list[i].expr
	}
	return out
}

// formsIn returns what is commonly made of one base.
func (f *finder) formsIn(b base) []*expr {
	x, last := variableOf(b.variable), f.number(b.size-1)
	left := sub(last, x) // how many are behind x
	list := []*expr{
		of1(opZeros, x), of1(opLen, x), of1(opLen, left), of2(opXor, x, lit(1)),
		of2(opAnd, x, sub(x, lit(1))),                          // x without its lowest bit
		sub(x, of2(opShl, lit(1), sub(of1(opLen, x), lit(1)))), // and without its highest
	}
	fans := f.fans(b)
	list = append(list, fans...)
	divided := []*expr{x, sub(x, lit(1)), sub(x, lit(2)), left} // in a heap, and in one below node 1
	if f.chunks > 0 {
		divided = append(divided, sub(&expr{op: opChunks}, x))
	}
	for _, m := range f.moduli {
		n := f.number(m)
		for _, y := range divided {
			list = append(list, of2(opDiv, y, lit(m)), of2(opMod, y, n))
		}
		list = append(list, of2(opXor, x, n), sub(x, of2(opMod, x, n)))
		for _, d := range f.moduli {
			list = append(list, of2(opMod, of2(opDiv, x, lit(m)), f.number(d)))
		}
	}
	if b.own == varHost {
		members := of1(opMembers, x)
		list = append(list, members)
		for _, fan := range fans {
			list = append(list, add(members, fan))
		}
	}
	if b.variable == varTo {
		list = append(list, sub(variableOf(varRank), b.rank(x)))
	}
	return list
}

// fans are the numbers of children in binomial trees, in heaps of any fan, also below
// node 1, and those of blocks of equal size.
func (f *finder) fans(b base) []*expr {
	x, last := variableOf(b.variable), f.number(b.size-1)
	left := sub(last, x)
	list := []*expr{
		{op: opMin, args: []*expr{of1(opZeros, x), of1(opLen, left)}},
		{op: opMax, args: []*expr{lit(0), sub(of1(opLen, left), of1(opLen, x))}},
		sub(of1(opLen, left), of1(opLen, x)),
	}
	if b.variable == varPlace {
		list = append(list, &expr{op: opMin, args: []*expr{of1(opZeros, variableOf(varRank)), of1(opLen, left)}})
	}
	for _, m := range f.moduli {
		few := &expr{op: opMin, args: []*expr{lit(m), sub(last, mul(lit(m), x))}}
		list = append(list, &expr{op: opMax, args: []*expr{lit(0), few}}, of2(opDiv, left, lit(m)))
		below := &expr{op: opMin, args: []*expr{lit(m), sub(f.number(b.size-2), mul(lit(m), sub(x, lit(1))))}}
		list = append(list, &expr{op: opMax, args: []*expr{lit(0), below}})
	}
	return list
}

// geometric looks for a base ± a power of two that doubles or halves with
// each pass of a loop. Three samples are enough for that.
func (f *finder) geometric(c *sought) *expr {
	if c.count < 3 {
		return nil
	}
	for _, p := range c.powers() {
		first := c.probes[0]
		d, by := first.value-p.base.at(&first.env), p.exponent.at(&first.env)
		if d == 0 || first.bad || by < 0 || by > 62 || max(d, -d)>>by == 0 {
			continue
		}
		factor := max(d, -d) >> by
		if e := p.plus(factor); d > 0 && f.right(e, c) {
			return e
		}
		if e := p.plus(-factor); d < 0 && f.right(e, c) {
			return e
		}
	}
	return nil
}

// power is a base plus a power of two.
type power struct{ base, exponent *expr }

// plus returns the base plus so many times the power.
func (p power) plus(factor int) *expr {
	if factor < 0 {
		return sub(p.base, of2(opShl, lit(-factor), p.exponent))
	}
	return add(p.base, of2(opShl, lit(factor), p.exponent))
}

// powers are those that change with a loop: from 1 up, down to 1, and from the
// first power of two above a base.
func (c *sought) powers() []power {
	var list []power
	for _, loop := range c.loops {
		pass := variableOf(loop)
		for _, base := range c.origins() {
			list = append(list, power{base, pass}, power{base, sub(sub(variableOf(varTimes), lit(1)), pass)})
			if base.op == opVar {
				list = append(list, power{base, add(of1(opLen, base), pass)})
			}
		}
	}
	return list
}

// rotated looks for numbers that go round a ring, or round each block of one,
// by equal steps: (±base + step·loop + c) % n + d, or the same within the
// base's block.
func (f *finder) rotated(c *sought) *expr {
	steps := []*expr{lit(0)}
	for _, loop := range c.loops {
		for _, step := range append([]int{1, -1}, f.moduli...) {
			steps = append(steps, mul(lit(step), variableOf(loop)))
		}
	}
	for _, n := range f.moduli {
		for _, base := range c.origins() {
			for _, step := range steps {
				if e := f.ring(c, base, step, n); e != nil || f.budget < 0 {
					return e
				}
			}
		}
	}
	return nil
}

func (f *finder) ring(c *sought, base, step *expr, n int) *expr {
	first := c.probes[0]
	x, s := base.at(&first.env), step.at(&first.env)
	for _, sign := range []int{1, -1, 0} {
		for d := range 2 {
			e := add(mul(lit(sign), base), step)
			for _, up := range f.lifted(e, residue(first.value-d-sign*x-s, n), n) {
				if e := add(of2(opMod, up, f.number(n)), lit(d)); f.confirmed(e, c) {
					return e
				}
			}
		}
	}
	by := residue(first.value-x-s, n)
	block := sub(base, of2(opMod, base, f.number(n)))
	if e := add(block, of2(opMod, add(add(base, step), lit(by)), f.number(n))); f.confirmed(e, c) {
		return e
	}
	return nil
}
