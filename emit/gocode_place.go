package emit

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/windows"
)

// placesOf sorts the ranks of roles by where their signals may stand as flags.
func placesOf(s *ir.Schedule, l *layout, roles []*role) []part {
	all := windows.All(s)
	of := rolesOfRanks(s.Ranks, roles)
	return parts(s.Ranks, func(rank int) (*goCode, int) {
		t := &taker{Schedule: s, layout: l, rank: rank}
		return &goCode{signals: one(0), must: one(0), places: t.places(&all[rank])}, of[rank]
	})
}

// places makes runs of a rank's places. What different rules wait for, step by step, is cut
// apart: it comes from ranks at different distances.
func (t *taker) places(of *windows.Places) places {
	steps := t.steps()
	apart := func(a, b ir.Action) bool { return steps[a.Slot] != steps[b.Slot] }
	var awaits, posted, posts []ir.Action
	for _, a := range of.Awaits {
		s := ir.Signal(a.Signal)
		awaits = append(awaits, ir.PutTo(s, a.From))
		if a.Posted {
			posted = append(posted, ir.PutTo(s, 0))
		}
	}
	for _, p := range of.Posts {
		for _, to := range p.To {
			posts = append(posts, ir.PutTo(ir.Signal(p.Signal), to))
		}
	}
	other := func(a, b ir.Action) bool { return a.Slot != b.Slot }
	return places{awaits: t.cut(awaits, apart), posted: t.cut(posted, apart), posts: t.cut(posts, other)}
}

// cut makes a run of actions, whose segments end where one is apart from the next.
func (t *taker) cut(list []ir.Action, apart func(a, b ir.Action) bool) *repeat {
	run := t.actions(nil)
	for len(list) > 0 {
		n := 1
		for n < len(list) && !apart(list[n-1], list[n]) {
			n++
		}
		run.segments = append(run.segments, t.segments([][]ir.Action{list[:n]})...)
		list = list[n:]
	}
	return run
}

// steps returns the first rule that waits for each signal.
func (t *taker) steps() map[ir.Slot]int {
	first := make(map[ir.Slot]int)
	for i, r := range t.Programs[t.rank].Rules {
		for _, s := range r.When {
			if _, ok := first[s]; !ok {
				first[s] = i
			}
		}
	}
	return first
}

// places writes the function from ranks to places.
func (g *goWriter) places() {
	writers := make([]*roleWriter, len(g.placed))
	tables := ""
	for i, ro := range g.placed {
		writers[i] = &roleWriter{goWriter: g, role: ro, name: fmt.Sprintf("places%d", i)}
		tables += g.captured(writers[i].tables)
	}
	n := writers[0].spelling()
	kinds := &picker{goWriter: g, roles: g.placed, name: "placeKinds", do: func(role int) { writers[role].places(n) }}
	body := g.captured(func() { kinds.pick(n) })
	g.p("// places returns where the signals of rank may stand as flags.")
	g.p("func places(rank int) (p windows.Places) {")
	g.define(n)
	g.p("%s}\n%s%s", body, kinds.text, tables)
}

// places writes those of a role.
func (w *roleWriter) places(n *spelling) {
	n.role = w.name
	comment := w.commenter()
	p := &w.goCode.places
	w.placesBy(n, p.awaits, comment, func(slot, rank string) string { return slot + " from " + rank }, func(s *segment) {
		w.call(n, "p.Await", s, n.text)
	})
	w.placesBy(n, p.posted, comment, func(slot, _ string) string { return "posted " + slot }, func(s *segment) {
		w.p("p.Posted(%s)", n.text(s.slot.expr))
	})
	w.placesBy(n, p.posts, comment, func(slot, rank string) string { return "post " + slot + " @" + rank }, func(s *segment) {
		w.call(n, "p.Post", s, n.text)
	})
	w.p("return p")
}

// placesBy writes a run of places, told in these words, by one call for each.
func (w *roleWriter) placesBy(n *spelling, run *repeat, comment *commenter, tell func(slot, rank string) string, call func(*segment)) {
	for _, s := range run.fitted {
		w.comment(comment.segment(s, func(s *segment, at func(*expr) *expr) string {
			return tell(comment.slot(s.kind, at(s.slot.expr)), comment.braced(at(s.to.expr.put(varTo, s.at))))
		}, ", ", unchanged))
		w.eachOf(n, s, call)
	}
}
