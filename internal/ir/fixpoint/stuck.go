package fixpoint

import (
	"cmp"
	"slices"
)

// WhyNever returns why a slot is never set. If there is a cycle for which the slot waits, directly
// or not, the path is the nearest one, whose first slot is also its last. Otherwise the path is the
// shortest one from the slot to a slot that nothing would set. The slots wait for each other in the
// order of the path.
func (r *Result) WhyNever(slot int) (path []int, cycle bool) {
	g := r.stuck().graph(slot)
	nearest := g.pathsFrom(slot)
	if cyclic := g.inCycles(); len(cyclic) > 0 {
		return g.cycleThrough(nearest.closest(cyclic)), true
	}
	return nearest.to(nearest.closest(g.ends())), false
}

// maxWaits bounds the edges of a complete wait-for graph.
const maxWaits = 1 << 18

// stuck is the wait-for graph of the slots that are never set. An edge leads from a slot that a
// rule would set to a slot that the rule lacks. A large graph keeps only the first slot that each
// rule lacks, because that alone keeps the rule from firing.
type stuck struct {
	start []int32 // by slot number; one more entry at the end
	waits []int32 // the slots that are waited for
}

func (r *Result) stuck() *stuck {
	edges := 0
	r.eachStuck(func(sets, lacks []int32) { edges += len(sets) * len(lacks) })
	eachWait := func(f func(slot, on int32)) {
		r.eachStuck(func(sets, lacks []int32) {
			if edges > maxWaits {
				lacks = lacks[:min(len(lacks), 1)]
			}
			for _, slot := range sets {
				for _, on := range lacks {
					f(slot, on)
				}
			}
		})
	}
	st := &stuck{start: make([]int32, len(r.slots)+2)}
	eachWait(func(slot, _ int32) { st.start[slot+2]++ })
	for i := 1; i < len(st.start); i++ {
		st.start[i] += st.start[i-1]
	}
	st.waits = make([]int32, st.start[len(st.start)-1])
	eachWait(func(slot, on int32) {
		at := &st.start[slot+1]
		st.waits[*at] = on
		*at++
	})
	return st
}

// eachStuck calls f for every rule that never fires, with the slots that it would put or set here
// and that are never set, and with the slots that it lacks. It lacks none if it is a repair that
// was cancelled.
func (r *Result) eachStuck(f func(sets, lacks []int32)) {
	var sets, lacks []int32
	for rule, round := range r.rules {
		if round >= 0 {
			continue
		}
		sets, lacks = sets[:0], lacks[:0]
		for _, s := range r.system.Does(rule) {
			if s.To != All && r.slots[s.Slot] < 0 {
				sets = append(sets, s.Slot)
			}
		}
		for _, w := range r.system.When(rule) {
			if r.slots[w] < 0 {
				lacks = append(lacks, w)
			}
		}
		f(sets, lacks)
	}
}

// waitGraph is a part of the wait-for graph: the slots for which each slot waits, in ascending
// order, so that the same schedule always gives the same counterexample.
type waitGraph map[int][]int

// graph returns the part of the wait-for graph that can be reached from a slot. All its slots are
// stuck. They may be many, but the graph is needed only to explain a failure.
func (st *stuck) graph(from int) waitGraph {
	g := waitGraph{from: nil}
	for todo := []int{from}; len(todo) > 0; {
		slot := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		var on []int
		for _, next := range st.waits[st.start[slot]:st.start[slot+1]] {
			on = append(on, int(next))
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

// inCycles returns the slots that are on cycles. A slot is on a cycle if it waits for itself, or if
// its strongly connected component has several slots. The components are found by Tarjan's algorithm.
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
			at := len(open) - 1
			for open[at] != slot {
				at--
			}
			if len(open)-at > 1 || slices.Contains(g[slot], slot) {
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
	p := g.pathsFrom(slot)
	var last []int // slots that wait for the given one
	for before := range p.steps {
		if _, waits := slices.BinarySearch(g[before], slot); waits {
			last = append(last, before)
		}
	}
	return append(p.to(p.closest(last)), slot)
}
