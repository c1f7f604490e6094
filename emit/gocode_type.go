package emit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// roleWriter writes the type, the tables, the constructor and Set of a role.
type roleWriter struct {
	*goWriter
	*role
	name   string
	fields []field // that Set needs
	masks  []mask  // likewise
	locals []field // that the constructor needs besides
	depth  int     // of loops in the constructor
	hasTo  bool    // outside of them, the constructor has the variable to
}

// field is a number of a rank that code refers to by name.
type field struct {
	name string
	core *expr
}

// mask is a set of slots that code refers to by name.
type mask struct {
	name  string
	value string
	slots string
}

// role writes role i.
func (g *goWriter) role(i int) {
	w := &roleWriter{goWriter: g, role: g.roles[i], name: fmt.Sprintf("role%d", i)}
	w.captured(w.set) // learns what Set needs
	set := w.captured(w.set)
	w.locate()
	constructor := w.captured(w.constructor)
	g.comment(fmt.Sprintf("%s is what %s.", w.name, whoDo(w.ranks)))
	g.p("type %s struct {\nmachine.Base", w.name)
	n := w.spelling()
	n.given = nil
	for _, f := range w.fields {
		if f.core.op == opVar {
			g.p("%s int", f.name)
		} else {
			g.p("%s int // %s", f.name, n.text(f.core))
		}
	}
	for _, m := range w.masks {
		g.p("%s uint64 // %s", m.name, m.slots)
	}
	g.p("}\n")
	w.tables()
	g.p("%s\n%s", constructor, set)
}

// captured returns what write writes.
func (g *goWriter) captured(write func()) string {
	before := g.out
	g.out = bytes.Buffer{}
	write()
	text := g.out.String()
	g.out = before
	return text
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

// spelling is how the constructor and comments spell numbers.
func (w *roleWriter) spelling() *spelling {
	n := &spelling{given: make(map[string]string), role: w.name, used: w.used}
	n.vars = [numVars]string{varRank: "rank", varPlace: "place", varHost: "host", varTo: "to", varSlot: "i"}
	for _, f := range append(slices.Clip(w.fields), w.locals...) {
		if f.core.op != opVar {
			n.given[f.core.key()] = f.name
		}
	}
	return n
}

func (w *roleWriter) commenter() *commenter {
	n := w.spelling()
	n.used = make(map[op]bool)
	return &commenter{spelling: n}
}

// named returns the name of a number, a new one if it has none.
func named(list *[]field, taken int, core *expr) string {
	for _, f := range *list {
		if f.core.key() == core.key() {
			return f.name
		}
	}
	name := "n"
	switch {
	case core.op == opVar:
		name = map[variable]string{varRank: "rank", varPlace: "place", varHost: "host"}[variable(core.n)]
	default:
		for _, f := range *list {
			taken += flag(f.core.op != opVar)
		}
		if taken > 0 {
			name = fmt.Sprintf("n%d", taken+1)
		}
	}
	*list = append(*list, field{name, core})
	return name
}

// locate names what loops of the constructor are as long as.
func (w *roleWriter) locate() {
	taken := 0
	for _, f := range w.fields {
		taken += flag(f.core.op != opVar)
	}
	need := func(e *expr) {
		c := core(e)
		if c == nil || c.op == opVar || slices.ContainsFunc(w.fields, func(f field) bool { return f.core.key() == c.key() }) {
			return
		}
		named(&w.locals, taken, c)
	}
	segments := func(run *repeat) {
		for _, s := range run.fitted {
			need(s.outer.expr)
			need(s.inner.expr)
		}
	}
	for _, f := range w.families {
		need(f.times.expr)
		for _, run := range f.runs {
			need(run.times.expr)
			segments(run)
		}
	}
	for _, run := range w.apart() {
		segments(run)
	}
	for i := range w.done {
		need(w.done[i].n.expr)
	}
}

// masked returns the name of a mask, a new one if it has none.
func (w *roleWriter) masked(value, slots string) string {
	for _, m := range w.masks {
		if m.value == value {
			return m.name
		}
	}
	name := "all"
	if n := len(w.masks); n > 0 {
		name = fmt.Sprintf("all%d", n+1)
	}
	w.masks = append(w.masks, mask{name, value, slots})
	return name
}
