package emit

import (
	"slices"
	"strconv"

	"github.com/schedgen/schedgen/ir"
)

// role is ranks whose code differs in numbers only: all of them run the same
// generated code, for which the numbers are formulas of the rank or stand in
// the role's table.
type role struct {
	*goCode // with the formulas
	ranks   []int
	conds   []condition // of each family
	words   []int       // of each family that is masked: the word of bits
	table   table
}

// programsOf sorts the ranks by what they do.
func programsOf(s *ir.Schedule, l *layout) []part {
	return parts(s.Ranks, func(rank int) (*goCode, int) { return takeApart(s, l, rank), 0 })
}

// parts sorts ranks by their kinds and by what their code is like without its numbers.
func parts(ranks int, code func(rank int) (c *goCode, kind int)) []part {
	of := make(map[string]*part)
	var order []*part
	for r := range ranks {
		c, kind := code(r)
		key := strconv.Itoa(kind) + c.key()
		if of[key] == nil {
			of[key] = new(part)
			order = append(order, of[key])
		}
		of[key].codes = append(of[key].codes, c)
		of[key].ranks = append(of[key].ranks, r)
	}
	var out []part
	for _, p := range order {
		out = append(out, p.separated()...)
	}
	return out
}

// roles makes roles of parts and finds the formulas.
func roles(f *finder, s *ir.Schedule, parts []part) []*role {
	var out []*role
	for _, p := range parts {
		out = append(out, rolesOf(f, s, p)...)
	}
	return out
}

// rolesOfRanks returns, for each of so many ranks, which of the roles it has.
func rolesOfRanks(ranks int, roles []*role) []int {
	of := make([]int, ranks)
	for i, ro := range roles {
		for _, r := range ro.ranks {
			of[r] = i
		}
	}
	return of
}

// key spells the code without its numbers.
func (c *goCode) key() string {
	var b keyBuilder
	b.add(flag(c.holds), flag(c.keeps))
	b.spans(c.done)
	for _, f := range c.families {
		b.add(flag(f.repair))
		b.spans(f.when)
		for _, run := range f.runs {
			b.add(-1, flag(run.again != nil))
			if run.again != nil {
				b.add(int(run.again.kind))
			}
			b.segments(run)
		}
		b.add(-2)
	}
	for _, run := range c.apart() {
		b.segments(run)
	}
	b.effect(&c.enter)
	for _, list := range [][]slotClass{c.chunk, c.signal} {
		b.add(-3)
		for i := range list {
			b.effect(&list[i].effect)
		}
	}
	return string(b)
}

type keyBuilder []byte

func (b *keyBuilder) add(numbers ...int) {
	for _, n := range numbers {
		*b = append(*b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	}
}

func (b *keyBuilder) spans(list []slotSpan) {
	for i := range list {
		b.add(int(list[i].kind))
	}
	b.add(-4)
}

func (b *keyBuilder) segments(run *repeat) {
	for _, s := range run.segments {
		b.add(int(s.op), int(s.kind), flag(s.nested))
	}
	b.add(-6)
}

func (b *keyBuilder) effect(e *effect) {
	*b = append(*b, e.key()...)
	b.add(-5)
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// part is ranks that can share code.
type part struct {
	codes []*goCode
	ranks []int
}

// separated parts ranks whose families or classes do not go by the same steps:
// code of families of several rules is for rules that wait for one slot of
// each span.
func (p part) separated() []part {
	several := make([]bool, len(p.codes[0].families))
	for _, c := range p.codes {
		for i, f := range c.families {
			several[i] = several[i] || f.times.at() > 1
		}
	}
	var first []goNumber
	var in, out part
	for _, c := range p.codes { // what any step would do for has that of another
		for i, n := range c.steps(several) {
			if len(first) <= i {
				first = append(first, n)
			} else if first[i].free {
				first[i] = n
			}
		}
	}
	for i, c := range p.codes {
		to := &in
		if !slices.EqualFunc(first, c.steps(several), func(a, b goNumber) bool { return b.free || a.at() == b.at() }) {
			to = &out
		}
		to.codes, to.ranks = append(to.codes, c), append(to.ranks, p.ranks[i])
	}
	if out.codes == nil {
		return []part{in}
	}
	return append([]part{in}, out.separated()...)
}

// steps are those of a rank's families and classes, and whether families wait
// for spans of several slots that are of several rules at some rank.
func (c *goCode) steps(several []bool) []goNumber {
	var out []goNumber
	for i, f := range c.families {
		for j := range f.when {
			out = append(out, f.step[j], one(flag(several[i] && f.when[j].n.at() > 1)))
		}
	}
	for i := range c.chunk {
		out = append(out, c.chunk[i].stride)
	}
	for i := range c.signal {
		out = append(out, c.signal[i].stride)
	}
	return out
}

// numbers are those of the code that stand in no loop, in the same order for
// all codes of a key.
func (c *goCode) numbers() []*goNumber {
	list := []*goNumber{&c.signals, &c.must}
	spans := func(spans []slotSpan) {
		for i := range spans {
			list = append(list, &spans[i].first, &spans[i].n)
		}
	}
	spans(c.done)
	for _, f := range c.families {
		list = append(list, &f.times, &f.must, &f.at, &f.size, &f.arm, &f.arms, &f.counter)
		spans(f.when)
		for i := range f.step {
			list = append(list, &f.step[i])
		}
		for _, run := range f.runs {
			list = append(list, &run.times)
			if run.again != nil {
				list = append(list, &run.again.n)
			}
		}
	}
	for _, classes := range [][]slotClass{c.chunk, c.signal} {
		for i := range classes {
			list = append(list, &classes[i].stride)
			if i < len(classes)-1 {
				list = append(list, &classes[i].lo, &classes[i].hi)
			}
		}
	}
	return list
}
