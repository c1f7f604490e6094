package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// waitGraph is a part of the wait-for graph: the slots for which each slot waits, in ascending order,
// so that the same schedule always gives the same counterexample.
type waitGraph map[int][]int

// graph returns the part of the wait-for graph that can be reached from a slot. All its slots are
// stuck. They may be many, but the graph is needed only to explain a failure.
func (st *stuck) graph(from int) waitGraph {
	g := waitGraph{from: nil}
	for todo := []int{from}; len(todo) > 0; {
		slot := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		var on []int
		for _, next := range st.waitingFor(int64(slot)) {
			if int(next) != slot { // a put to oneself, which wellformed refuses
				on = append(on, int(next))
			}
		}
		slices.Sort(on)
		on = slices.Compact(on)
		g[slot] = on
		for _, next := range on {
			if _, known := g[next]; !known {
				g[next] = nil
				todo = append(todo, next)
			}
		}
	}
	return g
}

// paths are shortest paths from a slot: the slot before each slot, and the number of steps to it.
type paths struct {
	before map[int]int
	steps  map[int]int
}

// pathsFrom returns the shortest paths to all slots that can be reached.
func (g waitGraph) pathsFrom(from int) paths {
	p := paths{map[int]int{}, map[int]int{from: 0}}
	for todo := []int{from}; len(todo) > 0; todo = todo[1:] {
		for _, next := range g[todo[0]] {
			if _, known := p.steps[next]; !known {
				p.before[next], p.steps[next] = todo[0], p.steps[todo[0]]+1
				todo = append(todo, next)
			}
		}
	}
	return p
}

// to returns the path to a slot, which begins at the start. It is nil if there is no path.
func (p paths) to(slot int) (way []int) {
	steps, ok := p.steps[slot]
	if !ok {
		return nil
	}
	way = make([]int, steps+1)
	for i := steps; i > 0; i-- {
		way[i], slot = slot, p.before[slot]
	}
	way[0] = slot
	return way
}

// explain returns why p is never set. If there is a cycle that p waits for, directly or not, it
// returns the nearest one. Otherwise it returns the shortest path to a slot that no put would set.
func (st *stuck) explain(p Place) (steps []Step, cycle bool) {
	slot := st.sub.layout.Slot(p.Rank, p.Slot)
	if slot < 0 {
		return []Step{{p, -1}}, false // no program mentions it
	}
	g := st.graph(slot)
	nearest := g.pathsFrom(slot)
	if cyclic := g.inCycles(); len(cyclic) > 0 {
		return st.steps(g.cycleThrough(nearest.closest(cyclic))), true
	}
	return st.steps(nearest.to(nearest.closest(g.ends()))), false
}

// inCycles returns the slots that are on cycles: those of strongly connected components of several
// slots, by the algorithm of Tarjan.
func (g waitGraph) inCycles() (cyclic []int) {
	number, low := map[int]int{}, map[int]int{} // the order of visits; the earliest slot of the component so far
	var open []int                              // slots of components that are not complete
	isOpen := map[int]bool{}
	type visit struct{ slot, edge int }
	for from := range g {
		if number[from] > 0 {
			continue
		}
		for stack := []visit{{from, 0}}; len(stack) > 0; {
			v := &stack[len(stack)-1]
			if v.edge == 0 && number[v.slot] == 0 {
				number[v.slot] = len(number) + 1
				low[v.slot] = number[v.slot]
				open, isOpen[v.slot] = append(open, v.slot), true
			}
			if v.edge < len(g[v.slot]) {
				next := g[v.slot][v.edge]
				v.edge++
				if number[next] == 0 {
					stack = append(stack, visit{next, 0})
				} else if isOpen[next] {
					low[v.slot] = min(low[v.slot], number[next])
				}
				continue
			}
			slot := v.slot
			stack = stack[:len(stack)-1]
			if len(stack) > 0 {
				parent := stack[len(stack)-1].slot
				low[parent] = min(low[parent], low[slot])
			}
			if low[slot] < number[slot] {
				continue
			}
			at := slices.Index(open, slot)
			if len(open)-at > 1 {
				cyclic = append(cyclic, open[at:]...)
			}
			for _, done := range open[at:] {
				isOpen[done] = false
			}
			open = open[:at]
		}
	}
	return cyclic
}

// ends returns the slots that wait for nothing. A graph without cycles has one.
func (g waitGraph) ends() (ends []int) {
	for slot, on := range g {
		if len(on) == 0 {
			ends = append(ends, slot)
		}
	}
	return ends
}

// closest returns the slot with the shortest path to it. Among several it returns the one with the
// smallest number.
func (p paths) closest(slots []int) int {
	return slices.MinFunc(slots, func(a, b int) int { return cmp.Or(cmp.Compare(p.steps[a], p.steps[b]), cmp.Compare(a, b)) })
}

// cycleThrough returns a shortest cycle through a slot, which must be on one. The slot is first and
// last in the result.
func (g waitGraph) cycleThrough(slot int) []int {
	var shortest []int
	for _, next := range g[slot] {
		back := g.pathsFrom(next).to(slot)
		if len(back) > 0 && (shortest == nil || len(back) < len(shortest)) {
			shortest = back
		}
	}
	return append([]int{slot}, shortest...)
}

func (st *stuck) steps(slots []int) []Step {
	steps := make([]Step, len(slots))
	for i, slot := range slots {
		steps[i] = Step{st.sub.layout.PlaceOf(slot), -1}
		if i > 0 {
			steps[i-1].From = steps[i].Rank
		}
	}
	return steps
}

// tellStuck says in words what [stuck.explain] has found.
func (sub *subject) tellStuck(steps []Step, cycle bool) string {
	var parts []string
	for i, st := range steps {
		switch {
		case i < maxHops || i == len(steps)-1:
			parts = append(parts, st.Place.String())
		case i == maxHops:
			parts = append(parts, fmt.Sprintf("%d more", len(steps)-1-maxHops))
		}
	}
	end := steps[len(steps)-1].Place
	puts := "puts"
	if kind := end.Slot.Kind(); sub.folds && (kind == ir.KindChunk || kind == ir.KindValue) {
		puts = "puts or folds"
	}
	switch text := strings.Join(parts, " waits for "); {
	case cycle:
		return text + ", a cycle"
	case sub.calm.Slot(end.Rank, end.Slot) < 0 && len(steps) == 1:
		return "nobody " + puts + " it"
	case sub.calm.Slot(end.Rank, end.Slot) < 0:
		return text + ", which nobody " + puts
	case len(steps) == 1:
		return "no put brings it"
	default:
		return text + ", which no put brings"
	}
}

// ranksOf returns the ranks of a path, each once, in order.
func ranksOf(steps []Step) []int {
	var ranks []int
	seen := make(map[int]bool)
	for _, st := range steps {
		if !seen[st.Rank] {
			seen[st.Rank] = true
			ranks = append(ranks, st.Rank)
		}
	}
	return ranks
}
