package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/schedgen/schedgen/ir"
)

// term is a factor times a variable.
type term struct {
	factor int
	name   string
}

// sum writes constant + terms, without what is nothing.
func sum(constant int, terms ...term) *jen.Statement {
	out := jen.Null()
	empty := true
	for _, t := range terms {
		if t.factor == 0 {
			continue
		}
		if !empty {
			out.Op(sign(t.factor))
		} else if t.factor < 0 {
			out.Op("-")
		}
		empty = false
		if f := max(t.factor, -t.factor); f != 1 {
			out.Lit(f).Op("*")
		}
		out.Id(t.name)
	}
	switch {
	case empty:
		return jen.Lit(constant)
	case constant != 0:
		out.Op(sign(constant)).Lit(max(constant, -constant))
	}
	return out
}

func sign(n int) string {
	if n < 0 {
		return "-"
	}
	return "+"
}

// role writes the type, the table, the constructor and Set of role i.
func (g *goWriter) role(i int) {
	ro := g.roles[i]
	name := fmt.Sprintf("role%d", i)
	g.Comment(fmt.Sprintf("%s is what %s.", name, whoDo(ro.ranks)))
	g.Type().Id(name).Struct(jen.Qual(machinePath, "Base"))
	if len(ro.table.seen) > 0 {
		g.table(name, ro)
	}
	g.constructor(i, name, ro)
	g.set(name, ro)
}

// whoDo tells ranks, few by number and many by runs.
func whoDo(ranks []int) string {
	const named = 6
	runs := intRuns(ranks, " … ")
	switch {
	case len(runs) > named:
		return fmt.Sprintf("%d ranks do: %s, …", len(ranks), strings.Join(runs[:named], ", "))
	case len(ranks) == 1:
		return "rank " + runs[0] + " does"
	}
	return "ranks " + list(runs) + " do"
}

func (g *goWriter) table(name string, ro *role) {
	var rows []jen.Code
	for _, row := range ro.table.rows {
		var cells []jen.Code
		for _, n := range row {
			cells = append(cells, jen.Lit(n))
		}
		rows = append(rows, jen.Line().Values(cells...))
	}
	g.Comment(fmt.Sprintf("%sTable has a row for each rank of %s, in order.", name, name))
	g.Var().Id(name + "Table").Op("=").Index(jen.Op("...")).Index(jen.Lit(len(ro.table.seen))).Int32().Values(append(rows, jen.Line())...)
}

func (g *goWriter) constructor(i int, name string, ro *role) {
	fields := g.fields(ro)
	params := []jen.Code{jen.Id("rank")}
	if len(ro.table.seen) > 0 {
		params = append(params, jen.Id("row"))
	}
	f := g.Func().Id("new"+strings.ToUpper(name[:1])+name[1:]).Params(jen.List(params...).Int()).Op("*").Qual(machinePath, "Code")
	f.BlockFunc(func(b *jen.Group) {
		b.Id("c").Op(":=").Op("&").Qual(machinePath, "Code").Values(fields)
		if len(ro.table.seen) > 0 {
			b.Id("t").Op(":=").Op("&").Id(name + "Table").Index(jen.Id("row"))
		}
		g.waits(b, ro)
		for _, st := range ro.calls {
			g.step(b, st)
		}
		b.Id("c").Dot("New").Op("=").Func().Params().Qual(machinePath, "Engine").Block(
			jen.Return(jen.Op("&").Id(name).Values(jen.Qual(machinePath, "NewBase").Call(jen.Id("c")))),
		)
		b.Return(jen.Id("c"))
	})
}

// fields are those of a role's code that are not nothing.
func (g *goWriter) fields(ro *role) jen.Dict {
	fields := jen.Dict{jen.Id("Rank"): jen.Id("rank")}
	for name, n := range map[string]int{"Signals": ro.signals, "Must": ro.must} {
		if n > 0 {
			fields[jen.Id(name)] = jen.Lit(n)
		}
	}
	if g.s.Chunks > 0 {
		fields[jen.Id("Chunks")] = jen.Id("Chunks")
	}
	if ro.keeps {
		fields[jen.Id("Keep")] = jen.True()
	}
	if len(ro.need) > 0 {
		fields[jen.Id("Need")] = jen.Index().Int32().ValuesFunc(func(v *jen.Group) {
			for _, n := range ro.need {
				v.Lit(n)
			}
		})
	}
	return fields
}

// waits writes the done slots: runs of them as loops.
func (g *goWriter) waits(b *jen.Group, ro *role) {
	if ro.enter.done {
		b.Id("c").Dot("Wait").Call(jen.Qual(irPath, "Enter"))
	}
	for _, kind := range []struct {
		name string
		done []bool
	}{{"Chunk", ro.done[1 : 1+g.s.Chunks]}, {"Signal", ro.done[1+g.s.Chunks:]}} {
		for lo := 0; lo < len(kind.done); lo++ {
			n := 0
			for lo+n < len(kind.done) && kind.done[lo+n] {
				n++
			}
			switch {
			case n >= minRun:
				b.For(jen.Id("k").Op(":=").Range().Lit(n)).Block(
					jen.Id("c").Dot("Wait").Call(jen.Qual(irPath, kind.name).Call(sum(lo, term{1, "k"}))))
			default:
				for k := range n {
					b.Id("c").Dot("Wait").Call(jen.Qual(irPath, kind.name).Call(jen.Lit(lo + k)))
				}
			}
			lo += n
		}
	}
}

// step writes calls, as a loop if there are many.
func (g *goWriter) step(b *jen.Group, st step) {
	if st.body == nil {
		g.repeated(b, st, outer{})
		return
	}
	moves := slices.ContainsFunc(st.outers, func(o outer) bool { return o != outer{} })
	b.Add(times("k", st.times, moves)).BlockFunc(func(b *jen.Group) {
		for i, inner := range st.body {
			g.repeated(b, inner, st.outers[i])
		}
	})
}

// repeated writes a step that may stand in a loop over k.
func (g *goWriter) repeated(b *jen.Group, st step, o outer) {
	if st.times == 1 {
		b.Add(g.call(st, term{o.dslot, "k"}, term{o.dto, "k"}))
		return
	}
	b.Add(times("j", st.times, st.dslot != 0 || st.dto != 0)).Block(
		g.call(st, term{o.dslot, "k"}, term{o.dto, "k"}, term{st.dslot, "j"}, term{st.dto, "j"}))
}

// times writes the head of a loop, with a variable if the body needs it.
func times(name string, n int, needed bool) *jen.Statement {
	if !needed {
		return jen.For(jen.Range().Lit(n))
	}
	return jen.For(jen.Id(name).Op(":=").Range().Lit(n))
}

// call writes one call; terms are for slot and rank in turn.
func (g *goWriter) call(st step, terms ...term) jen.Code {
	var slots, tos []term
	for i, t := range terms {
		if i%2 == 0 {
			slots = append(slots, t)
		} else {
			tos = append(tos, t)
		}
	}
	slot := g.slot(st, slots)
	c := jen.Id("c")
	switch st.fn {
	case callMcast:
		return c.Dot("Mcast").Call(slot)
	case callAgain:
		return c.Dot("Again").Call(slot, jen.Lit(st.after), jen.Lit(st.n))
	}
	return c.Dot("Put").Call(slot, g.number(st.to, tos))
}

func (g *goWriter) slot(st step, terms []term) jen.Code {
	switch st.kind {
	case ir.KindChunk:
		return jen.Qual(irPath, "Chunk").Call(g.number(st.slot, terms))
	case ir.KindSignal:
		return jen.Qual(irPath, "Signal").Call(g.number(st.slot, terms))
	}
	return jen.Qual(irPath, "Enter")
}

// number writes a formula of rank, the loops' variables and the table's row t.
func (g *goWriter) number(e expr, terms []term) jen.Code {
	switch e.form {
	case looked:
		return jen.Int().Call(jen.Id("t").Index(sum(e.base, terms...)))
	case modular:
		for i := range terms {
			terms[i].factor = residue(terms[i].factor, g.s.Ranks)
		}
		return jen.Parens(sum(e.base, append([]term{{e.rank, "rank"}}, terms...)...)).Op("%").Id("Ranks")
	}
	return sum(e.base, append([]term{{e.rank, "rank"}}, terms...)...)
}
