package dag

import "strings"

// Order returns the numbers of all operations, each after all operations that must end before it.
// The error is a [*Fault] if operations wait for each other in a cycle.
func Order(g *Graph, x Index, mates []int) ([]int, error) {
	o := newOrder(g, x, mates)
	for head := 0; head < len(o.done); head++ {
		o.eachNext(o.done[head], func(id int) {
			if o.missing[id]--; o.missing[id] == 0 {
				o.done = append(o.done, id)
			}
		})
	}
	if len(o.done) < x.Len() {
		return nil, o.cycle()
	}
	return o.done, nil
}

type order struct {
	g       *Graph
	x       Index
	mates   []int
	missing []int32 // by number: how many operations it still waits for
	start   []int32 // by number: the index in next of its first local successor
	next    []int32
	done    []int
}

func newOrder(g *Graph, x Index, mates []int) *order {
	o := &order{g: g, x: x, mates: mates, missing: make([]int32, x.Len()), start: make([]int32, x.Len()+2)}
	edges := 0
	o.each(func(id, rank int, op *Op) {
		o.missing[id] = int32(len(op.After))
		if op.Kind == Recv {
			o.missing[id]++
		}
		for _, a := range op.After {
			o.start[x.Of(rank, int(a))+2]++
			edges++
		}
	})
	for i := 1; i < len(o.start); i++ {
		o.start[i] += o.start[i-1]
	}
	o.next = make([]int32, edges)
	o.each(func(id, rank int, op *Op) {
		for _, a := range op.After {
			at := &o.start[x.Of(rank, int(a))+1]
			o.next[*at] = int32(id)
			*at++
		}
		if o.missing[id] == 0 {
			o.done = append(o.done, id)
		}
	})
	return o
}

func (o *order) each(f func(id, rank int, op *Op)) {
	id := 0
	for rank := range o.g.Ranks {
		for i := range o.g.Ranks[rank] {
			f(id, rank, &o.g.Ranks[rank][i])
			id++
		}
	}
}

// eachNext calls f with each operation that waits for id.
func (o *order) eachNext(id int, f func(int)) {
	for _, n := range o.next[o.start[id]:o.start[id+1]] {
		f(int(n))
	}
	ref := o.x.Ref(id)
	if o.g.Ranks[ref.Rank][ref.I].Kind == Send {
		f(o.mates[id])
	}
}

// cycle returns the fault of a cycle. It walks from an operation that cannot end to one that it
// waits for, until it meets an operation again.
func (o *order) cycle() *Fault {
	at := 0
	for o.missing[at] == 0 {
		at++
	}
	seen := make(map[int]int) // by number: index on the way
	var way []int
	for {
		if first, round := seen[at]; round {
			return o.tellCycle(way[first:])
		}
		seen[at] = len(way)
		way = append(way, at)
		at = o.stuckBefore(at)
	}
}

// stuckBefore returns an operation that cannot end and for which operation id waits.
func (o *order) stuckBefore(id int) int {
	ref := o.x.Ref(id)
	op := &o.g.Ranks[ref.Rank][ref.I]
	for _, a := range op.After {
		if before := o.x.Of(ref.Rank, int(a)); o.missing[before] > 0 {
			return before
		}
	}
	return o.mates[id]
}

// maxTold is how many operations of a cycle are printed.
const maxTold = 12

func (o *order) tellCycle(cycle []int) *Fault {
	var ranks []int
	var names []string
	seen := make(map[int]bool)
	for i, id := range append(cycle, cycle[0]) {
		ref := o.x.Ref(id)
		if !seen[ref.Rank] {
			seen[ref.Rank] = true
			ranks = append(ranks, ref.Rank)
		}
		switch {
		case i < maxTold || i == len(cycle):
			names = append(names, o.g.Tell(ref))
		case i == maxTold:
			names = append(names, "…")
		}
	}
	return faultf(ranks, "%s, a cycle", strings.Join(names, " waits for "))
}
