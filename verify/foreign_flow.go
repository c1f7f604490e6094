package verify

import (
	"github.com/schedgen/schedgen/internal/foreign/dag"
)

// Bounds of a flow.
const (
	maxFlow      = 1 << 60 // bytes of all messages together; no sum overflows
	unbounded    = 1 << 61 // what a rank keeps from one operation to a later one
	maxFlowSteps = 1 << 29 // of all searches together
)

// flow finds the maximum number of bytes that each rank can get from the others. By the theorem of
// maximum flow and minimum cut (Ford, Fulkerson, 1956) it is the capacity of the bottleneck. The
// nodes are the operations, then one end for each rank, then each rank's own blocks. A message is
// an arc whose capacity is its length. A rank keeps its bytes after an operation.
//
// Once the search has found what one rank gets, that stays at the rank. The search for the next
// rank goes backwards and takes from the first rank with data that it meets, usually a neighbour.
// So the ranks of a pipeline do not all search back to the root.
type flow struct {
	start []int32 // by node: its first arc
	arcs  []flowArc
	// rank is the number of the first rank's end node. The nodes of the ranks' own blocks follow
	// the end nodes.
	rank   int32
	ranks  int     // number of ranks
	source [2]int  // the operations of the rank that holds all blocks: the first, and one past the last
	supply []int64 // by rank: what is at its end node; then by rank: what is left of its own blocks
	steps  int

	// State of the search.
	pass  int32
	seen  []int32 // by node: the last pass that has it on its path or has left it in vain
	begun []int32 // by node: the last pass that has tried its arcs
	tried []int32 // by node: number of arcs tried
	from  []int32 // by node: the arc that this pass tries first
	last  []int32 // by node: the last arc over which something has left it
	path  []int32 // nodes, from the end of the rank backwards
	over  []int32 // the arcs between them
}

// flowArc is an arc to the node that has it in its list.
type flowArc struct {
	tail int32
	back int32 // the arc in the opposite direction
	left int64 // remaining capacity
}

// newFlow returns the network of the graph with no flow.
func (f *foreign) newFlow() *flow {
	ops, ranks := f.index.Len(), len(f.Ranks)
	nodes := ops + 2*ranks
	fl := &flow{rank: int32(ops), ranks: ranks, start: make([]int32, nodes+1), supply: make([]int64, 2*ranks)}
	if all := f.holderOfAll(); all >= 0 {
		fl.source = [2]int{f.index.Of(all, 0), f.index.Of(all, len(f.Ranks[all]))}
	}
	for _, list := range []*[]int32{&fl.seen, &fl.begun, &fl.tried, &fl.from, &fl.last} {
		*list = make([]int32, nodes)
	}
	f.eachArc(fl.rank, func(tail, head int, _ int64) {
		fl.start[tail+1]++
		fl.start[head+1]++
	})
	for i := 1; i < len(fl.start); i++ {
		fl.start[i] += fl.start[i-1]
	}
	fl.arcs = make([]flowArc, fl.start[nodes])
	next := append([]int32(nil), fl.start...)
	f.eachArc(fl.rank, func(tail, head int, width int64) {
		a, back := next[head], next[tail]
		next[head]++
		next[tail]++
		fl.arcs[a] = flowArc{tail: int32(tail), back: back, left: width}
		fl.arcs[back] = flowArc{tail: int32(head), back: a}
	})
	return fl
}

// holderOfAll returns the first rank that holds all blocks, or -1 if there is none.
func (f *foreign) holderOfAll() int {
	for rank := range f.Ranks {
		if f.held(rank).Count == f.header.Blocks() {
			return rank
		}
	}
	return -1
}

// eachArc calls do for every arc of the network. It leaves out arcs to a rank that holds all
// blocks.
func (f *foreign) eachArc(end int32, do func(tail, head int, width int64)) {
	all := f.holderOfAll()
	for rank, ops := range f.Ranks {
		if rank == all {
			continue
		}
		holds := f.held(rank).Count > 0
		for i := range ops {
			id, op := f.index.Of(rank, i), &ops[i]
			if holds && op.Kind == dag.Send {
				do(int(end)+len(f.Ranks)+rank, id, unbounded)
			}
			switch {
			case op.Kind == dag.Recv && op.Peer == rank:
				do(f.mates[id], id, unbounded)
			case op.Kind == dag.Recv:
				do(f.mates[id], id, int64(op.Size))
				do(id, int(end)+rank, unbounded)
			}
			for _, a := range op.After {
				do(f.index.Of(rank, int(a)), id, unbounded)
			}
		}
	}
}

// pull sends as much flow as possible, up to want, to the end of the rank. It returns the amount.
func (fl *flow) pull(rank int, want int64) (int64, error) {
	got := int64(0)
	for got < want {
		n, err := fl.search(fl.rank+int32(rank), want-got)
		if err != nil {
			return got, err
		}
		if n == 0 {
			break
		}
		got += n
	}
	fl.supply[rank] += got
	return got, nil
}

// own sets how many bytes of the rank's own blocks can be pulled.
func (fl *flow) own(rank int, bytes int64) { fl.supply[fl.ranks+rank] = bytes }

// consume removes the flow at the end of the rank, so that no other rank can get it.
func (fl *flow) consume(rank int) { fl.supply[rank] = 0 }

// search searches the paths that lead to the sink once, depth first. If it returns 0, no more flow
// is possible.
func (fl *flow) search(sink int32, want int64) (int64, error) {
	fl.pass++
	got := int64(0)
	for fl.restart(sink); len(fl.path) > 0 && got < want; {
		if fl.steps++; fl.steps > maxFlowSteps {
			return got, dag.ErrTooLarge
		}
		at := fl.path[len(fl.path)-1]
		a := fl.arc(at)
		switch {
		case at != sink && fl.has(at) > 0:
			got += fl.augment(want - got)
			fl.restart(sink)
		case a < 0:
			fl.retreat()
		case fl.arcs[a].left > 0 && fl.seen[fl.arcs[a].tail] != fl.pass:
			fl.enter(fl.arcs[a].tail)
			fl.over = append(fl.over, a)
		default:
			fl.tried[at]++
		}
	}
	return got, nil
}

// restart begins a new path. The nodes of the old path may be entered again.
func (fl *flow) restart(sink int32) {
	for _, at := range fl.path {
		fl.seen[at] = 0
	}
	fl.path, fl.over = fl.path[:0], fl.over[:0]
	fl.enter(sink)
}

func (fl *flow) enter(at int32) {
	fl.seen[at] = fl.pass
	if fl.begun[at] != fl.pass {
		fl.begun[at], fl.tried[at], fl.from[at] = fl.pass, 0, fl.last[at]
	}
	fl.path = append(fl.path, at)
}

// retreat leaves a node that leads nowhere.
func (fl *flow) retreat() {
	fl.path = fl.path[:len(fl.path)-1]
	if n := len(fl.path); n > 0 {
		fl.over = fl.over[:n-1]
		fl.tried[fl.path[n-1]]++
	}
}

// arc returns the next arc of the node to try, or -1 if all have been tried.
func (fl *flow) arc(at int32) int32 {
	first, n := fl.start[at], fl.start[at+1]-fl.start[at]
	if fl.tried[at] >= n {
		return -1
	}
	return first + (fl.from[at]+fl.tried[at])%n
}

// has returns what can be taken at the node.
func (fl *flow) has(at int32) int64 {
	switch {
	case at >= fl.rank:
		return fl.supply[at-fl.rank]
	case int(at) >= fl.source[0] && int(at) < fl.source[1]:
		return unbounded
	}
	return 0
}

// augment sends as much flow as all arcs of the path can carry, up to want.
func (fl *flow) augment(want int64) int64 {
	at := fl.path[len(fl.path)-1]
	n := min(want, fl.has(at))
	for _, a := range fl.over {
		n = min(n, fl.arcs[a].left)
	}
	for _, a := range fl.over {
		arc := &fl.arcs[a]
		arc.left -= n
		fl.arcs[arc.back].left += n
		fl.last[arc.tail] = arc.back - fl.start[arc.tail]
	}
	if at >= fl.rank {
		fl.supply[at-fl.rank] -= n
	}
	return n
}

// behind reports whether more could flow from the node to the rank, if the node had more, after a
// pull that got less than it wanted.
func (fl *flow) behind(at int) bool { return fl.seen[at] == fl.pass }
