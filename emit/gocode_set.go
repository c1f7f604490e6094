package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// setter writes Set of a role.
type setter struct {
	*roleWriter
	n       *spelling
	comment *commenter
	joins   bool // actions of several slots are joined
}

// set writes Set.
func (w *roleWriter) set() {
	w.masks = nil
	st := &setter{roleWriter: w, n: w.spelling(), comment: w.commenter()}
	st.n.given = nil
	st.n.field = func(core *expr) string { return "m." + named(&w.fields, 0, core) }
	w.p("// Set implements machine.Engine.")
	w.p("func (m *%s) Set(s ir.Slot) (do []ir.Action, arm []int32) {\nswitch s.Kind() {", w.name)
	st.enter()
	if w.s.Chunks > 0 {
		st.kind("Chunk", "Chunks", lit(1), w.chunk)
	}
	if !w.signals.expr.is(0) {
		st.kind("Signal", st.n.text(w.signals.expr), lit(1+w.s.Chunks), w.signal)
	}
	w.p("}\nreturn do, arm\n}\n")
}

func (st *setter) enter() {
	st.p("case ir.KindEnter:\nif !m.Mark(0) {\nreturn nil, nil\n}")
	effects := []effect{st.role.enter}
	if st.holds {
		effects = append(effects, effectsOf(st.chunk)...)
	}
	st.collects(effects, func() {
		st.done(st.role.enter.done)
		st.triggers(&st.role.enter)
		if st.holds {
			st.hold()
		}
	})
}

// hold sets all chunks: the rank has them when it enters.
func (st *setter) hold() {
	idle := true
	for _, e := range effectsOf(st.chunk) {
		idle = idle && !e.done && len(e.triggers) == 0
	}
	st.p("for i := range Chunks {")
	if idle {
		st.p("m.Mark(i+1)")
	} else {
		st.joins = true
		st.p("if m.Mark(i+1) {")
		st.classes(st.chunk)
		st.p("}")
		st.joins = false
	}
	st.p("}")
}

func effectsOf(list []slotClass) []effect {
	var effects []effect
	for i := range list {
		effects = append(effects, list[i].effect)
	}
	return effects
}

// kind writes the case of chunks or signals, of which there are so many and
// the first is bit first.
func (st *setter) kind(kind, limit string, first *expr, list []slotClass) {
	st.p("case ir.Kind%s:\ni := s.Index()\nif i >= %s || !m.Mark(%s) {\nreturn nil, nil\n}", kind, limit, st.n.text(add(variableOf(varSlot), first)))
	st.collects(effectsOf(list), func() { st.classes(list) })
}

// collects writes body, which has the effects, between what starts and what
// ends the list of repairs, if any of them arms some.
func (st *setter) collects(effects []effect, body func()) {
	some := st.anyRepair(effects...)
	if some {
		st.p("m.Disarm()")
	}
	body()
	if some {
		st.p("arm = m.Armed()")
	}
}

func (st *setter) done(done bool) {
	if done {
		st.p("m.DoneLeft--")
	}
}

// classes writes what slot i does.
func (st *setter) classes(list []slotClass) {
	common, alike := true, true // all are done, all trigger the same
	for i := range list {
		common = common && list[i].done
		alike = alike && slices.Equal(list[i].triggers, list[0].triggers)
	}
	st.done(common)
	last := len(list) - 1
	write := func(c *slotClass) {
		st.done(c.done && !common)
		if !alike {
			st.triggers(&c.effect)
		}
	}
	if alike {
		defer st.triggers(&list[0].effect)
	}
	below := lit(0) // classes before have all slots below
	condition := func(c *slotClass) string {
		text := st.within(c, below)
		if c.lo.expr.key() == below.key() && c.stride.expr.is(1) {
			below = c.hi.expr
		}
		return text
	}
	rest := st.captured(func() { write(&list[last]) })
	switch {
	case last == 0:
		write(&list[0])
	case last == 1:
		first := st.captured(func() { write(&list[0]) })
		if first != "" || rest != "" {
			st.p("if %s {\n%s", condition(&list[0]), strings.TrimSpace(first))
			if rest != "" {
				st.p("} else {\n%s", strings.TrimSpace(rest))
			}
			st.p("}")
		}
	case alike && common:
	default:
		st.p("switch {")
		for i := range list[:last] {
			st.p("case %s:", condition(&list[i]))
			write(&list[i])
		}
		if rest != "" {
			st.p("default:\n%s", strings.TrimSpace(rest))
		}
		st.p("}")
	}
}

// within spells the condition that slot i is of a class and not below.
func (st *setter) within(c *slotClass, below *expr) string {
	lo, hi := st.n.text(c.lo.expr), ""
	if !c.whole {
		hi = st.n.text(c.hi.expr)
	}
	switch {
	case !c.stride.expr.is(1) && c.whole:
		return fmt.Sprintf("i%%%s == %s", st.n.text(c.stride.expr), lo)
	case !c.stride.expr.is(1):
		return fmt.Sprintf("i >= %s && i < %s && (i-%s)%%%s == 0", lo, hi, st.n.spell(c.lo.expr, 5), st.n.text(c.stride.expr))
	case sub(c.hi.expr, lit(1)).key() == c.lo.expr.key():
		return "i == " + lo
	case c.lo.expr.key() == below.key():
		return "i < " + hi
	}
	return fmt.Sprintf("i >= %s && i < %s", lo, hi)
}

// triggers writes what setting a slot triggers.
func (st *setter) triggers(e *effect) {
	first := !st.joins
	for _, t := range e.triggers {
		f := st.families[t.family]
		k := st.which(f, t.span)
		if k.op == opDiv && len(e.triggers) == 1 {
			st.p("k := %s", st.n.text(k))
			k = variableOf(varK)
			st.n.vars[varK], st.comment.vars[varK], st.comment.depth = "k", "k", 1
			defer func() { st.comment.depth = 0 }()
		}
		st.roleWriter.comment(st.comment.rule(f, k))
		test := st.test(t, k)
		if test != "" {
			st.p("if %s {", test)
		}
		st.fire(f, k, first)
		if test != "" {
			st.p("}")
		}
		first = first && f.repair
	}
}

// which returns the number of the rule of f for which the slot is one of a
// span.
func (st *setter) which(f *family, span int) *expr {
	first, i := f.when[span].first.expr, variableOf(varSlot)
	switch step := f.step[span].expr; {
	case f.times.expr.is(1):
		return lit(0)
	case step.is(-1):
		return sub(first, i)
	default:
		return of2(opDiv, sub(i, first), step)
	}
}

// test spells the condition of a trigger, empty if there is none.
func (st *setter) test(t trigger, k *expr) string {
	f := st.families[t.family]
	switch st.conds[t.family] {
	case always:
		return ""
	case partner:
		other := 1 - t.span
		return "m.Marked(" + st.n.text(st.bit(&f.when[other], mul(f.step[other].expr, k))) + ")"
	case masked:
		name := st.mask(t.family)
		return fmt.Sprintf("m.Bits[%d]&%s == %s", st.words[t.family], name, name)
	}
	counter := st.n.text(add(f.counter.expr, k))
	return fmt.Sprintf("m.Left[%s]--; m.Left[%s] == 0", counter, counter)
}

// bit returns the bit of the first slot of a span, moved by so many.
func (st *setter) bit(s *slotSpan, by *expr) *expr {
	at := add(s.first.expr, by)
	switch s.kind {
	case ir.KindEnter:
		return lit(0)
	case ir.KindChunk:
		return add(at, lit(1))
	}
	return add(at, lit(1+st.s.Chunks))
}

// mask spells the bits of all slots that a family waits for: as a number, or
// as a field.
func (st *setter) mask(family int) string {
	f := st.families[family]
	sum, same := uint64(0), true
	var runs [][2]*expr // bits: the first, how many
	var slots []string
	for j := range f.when {
		s := &f.when[j]
		lo := sub(st.bit(s, lit(0)), lit(64*st.words[family]))
		first, isFirst := lo.constant()
		n, isN := s.n.expr.constant()
		if same = same && isFirst && isN; same {
			sum |= (1<<n - 1) << first
		}
		if last := len(runs) - 1; last >= 0 && add(runs[last][0], runs[last][1]).key() == lo.key() {
			runs[last][1] = add(runs[last][1], s.n.expr)
		} else {
			runs = append(runs, [2]*expr{lo, s.n.expr})
		}
		slots = append(slots, st.comment.span(s, lit(0)))
	}
	if same {
		return fmt.Sprintf("%#x", sum)
	}
	n := st.spelling()
	var parts []string
	for _, r := range runs {
		ones := sub(of2(opShl, lit(1), r[1]), lit(1))
		parts = append(parts, n.text(of2(opShl, ones, r[0])))
	}
	return "m." + st.masked(strings.Join(parts, " | "), strings.Join(slots, " "))
}

// fire writes what the rules of a family do that wait for the same.
func (st *setter) fire(f *family, k *expr, first bool) {
	switch {
	case f.must.expr.is(1):
		st.p("m.MustLeft--")
	case !f.must.expr.is(0):
		st.p("m.MustLeft -= %s", st.n.text(f.must.expr))
	}
	if f.repair {
		from := add(f.arm.expr, mul(f.arms.expr, k))
		st.p("m.Arm(%s, %s)", st.n.text(from), st.n.text(add(from, f.arms.expr)))
		return
	}
	from := add(f.at.expr, mul(f.size.expr, k))
	slice := fmt.Sprintf("m.Do[%s:%s]", st.n.text(from), st.n.text(add(from, f.size.expr)))
	if first {
		st.p("do = %s", slice)
	} else {
		st.p("do = m.Join(do, %s)", slice)
	}
}
