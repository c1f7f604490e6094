package emit

import (
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"
)

// setter writes one role's Set.
type setter struct {
	chunks int
	holds  bool // the actions of several slots are joined
}

// set writes Set of a role.
func (g *goWriter) set(name string, ro *role) {
	st := setter{chunks: g.s.Chunks}
	cases := []jen.Code{jen.Case(jen.Qual(irPath, "KindEnter")).BlockFunc(func(b *jen.Group) {
		b.Add(mark(jen.Lit(0)))
		effects := []effect{ro.enter}
		if ro.holds {
			effects = append(effects, effectsOf(ro.chunk)...)
		}
		st.collects(b, effects, func() {
			st.effect(b, &ro.enter)
			if ro.holds && g.s.Chunks > 0 {
				st.hold(b, ro)
			}
		})
	})}
	if g.s.Chunks > 0 {
		cases = append(cases, st.kind("KindChunk", 1, "Chunks", ro.chunk))
	}
	if ro.signals > 0 {
		cases = append(cases, st.kind("KindSignal", 1+g.s.Chunks, "", ro.signal))
	}
	g.Comment("Set implements machine.Engine.")
	g.Func().Params(jen.Id("m").Op("*").Id(name)).Id("Set").Params(jen.Id("s").Qual(irPath, "Slot")).
		Params(jen.Id("do").Index().Qual(irPath, "Action"), jen.Id("arm").Index().Int32()).Block(
		jen.Switch(jen.Id("s").Dot("Kind").Call()).Block(cases...),
		jen.Return(jen.Id("do"), jen.Id("arm")),
	)
}

// mark returns from Set if bit i is set, and sets it.
func mark(i jen.Code) jen.Code {
	return jen.If(jen.Op("!").Id("m").Dot("Mark").Call(i)).Block(jen.Return(jen.Nil(), jen.Nil()))
}

// kind writes the case of chunks or signals, of which the first is bit first.
func (st setter) kind(kind string, first int, limit string, list []stretch) jen.Code {
	last := list[len(list)-1].hi
	bound := jen.Lit(last)
	if limit != "" {
		bound = jen.Id(limit)
	}
	return jen.Case(jen.Qual(irPath, kind)).BlockFunc(func(b *jen.Group) {
		b.Id("i").Op(":=").Id("s").Dot("Index").Call()
		b.If(jen.Id("i").Op(">=").Add(bound).Op("||").Op("!").Id("m").Dot("Mark").Call(sum(first, term{1, "i"}))).
			Block(jen.Return(jen.Nil(), jen.Nil()))
		st.collects(b, effectsOf(list), func() { st.stretches(b, list) })
	})
}

func effectsOf(list []stretch) []effect {
	var effects []effect
	for i := range list {
		effects = append(effects, list[i].effect)
	}
	return effects
}

// hold sets all chunks: the rank has them when it enters.
func (st setter) hold(b *jen.Group, ro *role) {
	st.holds = true
	loop := jen.For(jen.Id("i").Op(":=").Range().Id("Chunks"))
	marks := jen.Id("m").Dot("Mark").Call(sum(1, term{1, "i"}))
	if idle(ro.chunk) {
		b.Add(loop.Block(marks))
	} else {
		b.Add(loop.Block(jen.If(marks).BlockFunc(func(b *jen.Group) { st.stretches(b, ro.chunk) })))
	}
}

// stretches writes what slot i does.
func (st setter) stretches(b *jen.Group, list []stretch) {
	if len(list) == 1 {
		st.effect(b, &list[0].effect)
		return
	}
	if wide := widest(list); len(list) > 2 && wide >= 0 {
		b.Switch(jen.Id("i")).BlockFunc(func(b *jen.Group) { st.cases(b, list, wide) })
		return
	}
	b.Switch().BlockFunc(func(b *jen.Group) {
		for i := range list {
			body := func(b *jen.Group) { st.effect(b, &list[i].effect) }
			if i == len(list)-1 {
				b.Default().BlockFunc(body)
			} else {
				b.Case(jen.Id("i").Op("<").Lit(list[i].hi)).BlockFunc(body)
			}
		}
	})
}

// cases writes a case for each stretch but the wide one, which is the default.
func (st setter) cases(b *jen.Group, list []stretch, wide int) {
	for i := range list {
		body := func(b *jen.Group) { st.effect(b, &list[i].effect) }
		if i == wide {
			b.Default().BlockFunc(body)
		} else {
			b.Case(jen.Lit(list[i].lo)).BlockFunc(body)
		}
	}
}

// widest returns the only stretch of several slots, or the last if there is none;
// -1 if there are several.
func widest(list []stretch) int {
	wide := -1
	for i := range list {
		if list[i].hi-list[i].lo == 1 {
			continue
		}
		if wide >= 0 {
			return -1
		}
		wide = i
	}
	if wide < 0 {
		return len(list) - 1
	}
	return wide
}

// effect writes what one slot does.
func (st setter) effect(b *jen.Group, e *effect) {
	if e.done {
		b.Id("m").Dot("DoneLeft").Op("--")
	}
	first := !st.holds
	for i := range e.items {
		it := &e.items[i]
		if it.cond == always {
			it.write(b, first)
		} else {
			b.Add(it.test()).BlockFunc(func(b *jen.Group) { it.write(b, first) })
		}
		first = first && it.doN == 0
	}
}

func arms(e *effect) bool {
	for i := range e.items {
		if e.items[i].armN > 0 {
			return true
		}
	}
	return false
}

// collects writes body, which has the effects, between what starts and what
// ends the list of repairs, if any of them arms some.
func (st setter) collects(b *jen.Group, effects []effect, body func()) {
	some := slices.ContainsFunc(effects, func(e effect) bool { return arms(&e) })
	if some {
		b.Id("m").Dot("Disarm").Call()
	}
	body()
	if some {
		b.Id("arm").Op("=").Id("m").Dot("Armed").Call()
	}
}

// test writes the condition of a trigger.
func (it *trigger) test() *jen.Statement {
	m := jen.Id("m")
	switch it.cond {
	case partner:
		return jen.If(m.Dot("Marked").Call(it.arg.sum()))
	case masked:
		mask := jen.Id(fmt.Sprintf("%#x", it.mask))
		return jen.If(m.Dot("Bits").Index(jen.Lit(it.word)).Op("&").Add(mask).Op("==").Add(mask))
	}
	return jen.If(jen.Id("m").Dot("Left").Index(it.arg.sum()).Op("--"), m.Dot("Left").Index(it.arg.sum()).Op("==").Lit(0))
}

// write writes what a trigger does once its condition holds; first: nothing
// before it has added actions.
func (it *trigger) write(b *jen.Group, first bool) {
	switch {
	case it.must == 1:
		b.Id("m").Dot("MustLeft").Op("--")
	case it.must > 1:
		b.Id("m").Dot("MustLeft").Op("-=").Lit(it.must)
	}
	if it.doN > 0 {
		from, to := it.do, it.do
		to.base += it.doN
		slice := jen.Id("m").Dot("Do").Index(from.sum(), to.sum())
		if first {
			b.Id("do").Op("=").Add(slice)
		} else {
			b.Id("do").Op("=").Id("m").Dot("Join").Call(jen.Id("do"), slice)
		}
	}
	if it.armN > 0 {
		to := it.arm
		to.base += it.armN
		b.Id("m").Dot("Arm").Call(it.arm.sum(), to.sum())
	}
}

// sum writes the number for index i.
func (l line) sum() *jen.Statement { return sum(l.base, term{l.step, "i"}) }
