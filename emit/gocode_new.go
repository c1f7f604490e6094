package emit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// constructor writes the function that makes the code of a rank.
func (w *roleWriter) constructor() {
	n := w.spelling()
	body := w.captured(func() { w.build(n) })
	w.p("func new%s(rank int) *machine.Code {", strings.ToUpper(w.name[:1])+w.name[1:])
	locals := append(slices.Clip(w.fields), w.locals...)
	slices.SortStableFunc(locals, func(a, b field) int { return cmp.Compare(a.core.size(), b.core.size()) })
	var lines []string
	for _, f := range locals {
		if f.core.op != opVar {
			delete(n.given, f.core.key())
			lines = append(lines, fmt.Sprintf("%s := %s", f.name, n.text(f.core)))
			n.given[f.core.key()] = f.name
		} else {
			n.seen[f.core.n] = true
		}
	}
	w.define(n)
	for _, line := range lines {
		w.p("%s", line)
	}
	w.p("%s}\n", body)
}

// build writes what makes the code, once the numbers have names.
func (w *roleWriter) build(n *spelling) {
	comment := w.commenter()
	w.p("c := &machine.Code{\nRank: rank,")
	if w.s.Chunks > 0 {
		w.p("Chunks: Chunks,")
	}
	if !w.signals.expr.is(0) {
		w.p("Signals: %s,", n.text(w.signals.expr))
	}
	if !w.must.expr.is(0) {
		w.p("Must: %s,", n.text(w.must.expr))
	}
	if w.keeps {
		w.p("Keep: true,")
	}
	w.p("}")
	w.waits(n, comment)
	for i, f := range w.families {
		w.comment(comment.rule(f, nil))
		w.loop(n, varK, f.times.expr, func() { w.family(n, i) })
	}
	w.recover(n, comment)
	fields := []string{"Base: machine.NewBase(c)"}
	if len(w.fields)+len(w.masks) == 0 {
		fields[0] = "machine.NewBase(c)"
	}
	for _, f := range w.fields {
		fields = append(fields, f.name+": "+f.name)
	}
	for _, m := range w.masks {
		fields = append(fields, m.name+": "+m.value)
	}
	w.p("c.New = func() machine.Engine { return &%s{%s} }", w.name, strings.Join(fields, ", "))
	w.p("return c")
}

// waits writes the slots that the operation waits for.
func (w *roleWriter) waits(n *spelling, comment *commenter) {
	var slots []string
	for i := range w.done {
		slots = append(slots, comment.span(&w.done[i], lit(0)))
	}
	if len(slots) > 0 {
		w.comment("done " + strings.Join(slots, " "))
	}
	for i := range w.done {
		d := &w.done[i]
		w.loop(n, varK, d.n.expr, func() {
			index := d.first.expr
			if !d.n.expr.is(1) {
				index = add(variableOf(varK), index)
			}
			w.p("c.Wait(%s)", w.slot(n, d.kind, index))
		})
	}
}

// loopNames are the variables of loops, the outermost first.
var loopNames = [...]string{"k", "j", "h", "l"}

// loop writes body in a loop, unless it runs once.
func (w *roleWriter) loop(n *spelling, v variable, times *expr, body func()) {
	if times.is(1) {
		body()
		return
	}
	seen := n.seen[v]
	n.seen[v], n.vars[v] = false, loopNames[w.depth]
	w.depth++
	inner := w.captured(body)
	w.depth--
	if n.seen[v] {
		w.p("for %s := range %s {\n%s}", n.vars[v], n.text(times), inner)
	} else {
		w.p("for range %s {\n%s}", n.text(times), inner)
	}
	n.seen[v] = seen
}

func (w *roleWriter) slot(n *spelling, kind ir.Kind, index *expr) string {
	switch kind {
	case ir.KindEnter:
		return "ir.Enter"
	case ir.KindChunk:
		return "ir.Chunk(" + n.text(index) + ")"
	}
	return "ir.Signal(" + n.text(index) + ")"
}

// family writes the actions of rule k of a family, and its counter.
func (w *roleWriter) family(n *spelling, i int) {
	f := w.families[i]
	if w.conds[i] == counted {
		total := lit(0)
		for j := range f.when {
			total = add(total, f.when[j].n.expr)
		}
		if _, ok := total.constant(); ok {
			w.p("c.Need = append(c.Need, %s)", n.text(total))
		} else {
			w.p("c.Need = append(c.Need, int32(%s))", n.text(total))
		}
	}
	for _, run := range f.runs {
		w.loop(n, varJ, run.times.expr, func() {
			w.each(n, run, func(s *segment) { w.action(n, s) })
			if run.again != nil {
				w.p("c.Again(%s, %s, %s)", w.slot(n, run.again.kind, run.again.unless.expr), n.text(run.again.after.expr), n.text(run.again.n.expr))
			}
		})
	}
}

func (w *roleWriter) action(n *spelling, s *segment) {
	if s.op == ir.Mcast {
		w.p("c.Mcast(%s)", w.slot(n, s.kind, s.slot.expr))
		return
	}
	w.put(n, "Put", s)
}

// put writes a put as a call.
func (w *roleWriter) put(n *spelling, call string, s *segment) {
	w.call(n, "c."+call, s, func(index *expr) string { return w.slot(n, s.kind, index) })
}

// call writes a call with a slot, of this spelling, and a rank.
func (w *roleWriter) call(n *spelling, call string, s *segment, slot func(index *expr) string) {
	to := s.at
	if s.slot.expr.uses(varTo) {
		w.p("%s %s", w.declared(), n.text(to))
		to = variableOf(varTo)
	}
	w.p("%s(%s, %s)", call, slot(s.slot.expr), n.text(s.frame.rank(to)))
}

// recover writes what the rank does about multicasts that have not reached it.
func (w *roleWriter) recover(n *spelling, comment *commenter) {
	r := &w.recovery
	rank := func(name string) func(*segment) {
		return func(s *segment) { w.p("c.%s(%s)", name, n.text(s.to.expr)) }
	}
	if len(r.ask.fitted) > 0 {
		w.comment("ask " + comment.ranks(r.ask))
		w.each(n, r.ask, rank("Ask"))
	}
	report := "report"
	if len(r.report.fitted) > 0 {
		report += " " + comment.ranks(r.report)
	}
	if len(r.from.fitted) > 0 {
		report += " from " + comment.ranks(r.from)
	}
	if report != "report" {
		w.comment(report)
	}
	w.each(n, r.report, rank("ReportTo"))
	w.each(n, r.from, rank("ReportFrom"))
	if len(r.twice.fitted) > 0 {
		w.comment("twice " + strings.ReplaceAll(comment.actions(r.twice), "put ", ""))
		w.each(n, r.twice, func(s *segment) { w.put(n, "Twice", s) })
	}
}

// each writes the actions of a run by action.
func (w *roleWriter) each(n *spelling, run *repeat, action func(*segment)) {
	for _, s := range run.fitted {
		w.eachOf(n, s, action)
	}
}

// eachOf writes the actions of a segment by action.
func (w *roleWriter) eachOf(n *spelling, s *segment, action func(*segment)) {
	w.loop(n, varI, s.outer.expr, func() {
		w.loop(n, varH, s.inner.expr, func() { action(s) })
	})
}

// declared returns the beginning of an assignment to the variable to.
func (w *roleWriter) declared() string {
	switch {
	case w.depth > 0:
		return "to :="
	case w.hasTo:
		return "to ="
	}
	w.hasTo = true
	return "to :="
}
