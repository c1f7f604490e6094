package synth

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// cargo is the chunks that go along a tree in one piece.
type cargo struct {
	*Tree
	children [][]int32 // by rank, those with the deepest subtrees first
	piece    int
	chunks   []ir.Slot // in ascending order
}

// Schedule returns the schedule. A block has pieces·K chunks, piece by piece. It fails if that is
// more than [MaxPuts] puts.
func (p *Planned) Schedule() (*ir.Schedule, error) {
	ranks, o := len(p.n.Ranks), p.Options
	row, _ := ir.CollectiveNamed(string(o.Collective))
	h := ir.Header{Collective: string(o.Collective), Algorithm: "trees", Ranks: ranks, Params: []ir.Param{
		{Name: "pieces", Value: o.Pieces}, {Name: "trees", Value: int(p.K)}, {Name: "window", Value: o.Window},
	}}
	if row.Rooted {
		h.Root = o.Root
	}
	per := int64(o.Pieces) * p.K // chunks of a block of trees
	h.Chunks = int(per) * p.Roots
	halves := int64(1)
	if o.Collective == Allreduce {
		halves = 2
	}
	if puts := float64(per) * float64(p.Roots) * float64(ranks-1) * float64(halves); puts > MaxPuts || int64(h.Chunks) > ir.MaxChunks {
		return nil, fmt.Errorf("%s would have %.2g million puts for each rank: lower --pieces or --trees", h.Name(), puts/float64(ranks)/1e6)
	}
	w := newWriter(ranks)
	up, down := p.cargoes()
	after := p.window(down)
	w.up(up, after)
	w.down(down, after, !o.Collective.folds())
	return w.schedule(h), nil
}

// cargoes returns the cargoes of all trees up and of all trees down.
func (p *Planned) cargoes() (up, down []cargo) {
	first := make(map[int]int) // by root: its place among the roots
	for _, t := range p.Trees {
		if _, ok := first[t.Root]; !ok {
			first[t.Root] = len(first)
		}
	}
	for piece := range p.Options.Pieces {
		for _, half := range []bool{true, false} {
			at := make(map[int]int) // by root: trees so far
			for i := range p.Trees {
				t := &p.Trees[i]
				if t.Up != half {
					continue
				}
				c := cargo{Tree: t, piece: piece}
				if piece == 0 {
					c.children = t.children()
				}
				for range t.Weight {
					c.chunks = append(c.chunks, ir.Chunk(p.chunk(first[t.Root], piece, at[t.Root])))
					at[t.Root]++
				}
				if half {
					up = append(up, c)
				} else {
					down = append(down, c)
				}
			}
		}
	}
	for _, all := range [][]cargo{up, down} {
		for i := range all {
			all[i].children = all[i%(len(all)/p.Options.Pieces)].children
		}
	}
	return up, down
}

// chunk returns the chunk of a tree of a root in a piece. The vector of an allreduce is cut into
// pieces, each of which has a part for each root. Blocks of other collectives are cut one by one.
func (p *Planned) chunk(root, piece, tree int) int {
	k, pieces := int(p.K), p.Options.Pieces
	if p.Options.Collective == Allreduce {
		return (piece*p.Roots+root)*k + tree
	}
	return (root*pieces+piece)*k + tree
}

// children returns the children of each rank, those with the deepest subtrees first.
func (t *Tree) children() [][]int32 {
	kids, height := make([][]int32, len(t.Parent)), make([]int, len(t.Parent))
	for _, v := range slices.Backward(t.Order[1:]) {
		parent := t.Parent[v]
		height[parent] = max(height[parent], height[v]+1)
		kids[parent] = append(kids[parent], v)
	}
	for _, k := range kids {
		slices.SortStableFunc(k, func(a, b int32) int { return cmp.Compare(height[b], height[a]) })
	}
	return kids
}

// arrivals says by piece what a rank waits for before it sends what it contributes to a later one:
// the last chunk of each cargo that comes to it.
type arrivals func(rank, piece int) []ir.Slot

// window returns for what a rank waits, by the piece that it is about to send.
func (p *Planned) window(of []cargo) arrivals {
	window := p.Options.Window
	if window == 0 {
		return func(int, int) []ir.Slot { return nil }
	}
	type key struct{ root, piece int }
	comes := make(map[key][]ir.Slot) // by root: chunks that come to all ranks but this one
	for i := range of {
		c := &of[i]
		k := key{c.Root, c.piece}
		comes[k] = append(comes[k], c.chunks[len(c.chunks)-1])
	}
	return func(rank, piece int) (all []ir.Slot) {
		if piece < window {
			return nil
		}
		for k, slots := range comes {
			if k.piece == piece-window && k.root != rank {
				all = append(all, slots...)
			}
		}
		slices.Sort(all)
		return all
	}
}

// writer writes the programs of all ranks.
type writer struct {
	programs []ir.Program
	enter    [][]ir.Action // by rank: what it does at once
	done     [][]ir.Slot   // by rank: partial results that it sends
}

func newWriter(ranks int) *writer {
	w := &writer{make([]ir.Program, ranks), make([][]ir.Action, ranks), make([][]ir.Slot, ranks)}
	for r := range w.programs {
		w.programs[r].Rank = r
	}
	return w
}

func (w *writer) rule(rank int, when []ir.Slot, do []ir.Action) {
	p := &w.programs[rank]
	p.Rules = append(p.Rules, ir.Rule{When: when, Do: do})
}

// own adds what a rank does with its contribution, when it has entered and got the slots of after.
func (w *writer) own(rank int, after []ir.Slot, do []ir.Action) {
	if len(after) == 0 {
		w.enter[rank] = append(w.enter[rank], do...)
		return
	}
	w.rule(rank, append([]ir.Slot{ir.Enter}, after...), do)
}

// down sends cargoes from their roots. If held, the roots have them at enter; else they fold them.
func (w *writer) down(cargoes []cargo, after arrivals, held bool) {
	for i := range cargoes {
		c := &cargoes[i]
		for v, kids := range c.children {
			var do []ir.Action
			for _, to := range kids {
				do = append(do, ir.PutAll(int(to), c.chunks...)...)
			}
			switch {
			case len(do) == 0:
			case held && v == c.Root:
				w.own(v, after(v, c.piece), do)
			default:
				w.rule(v, c.chunks, do)
			}
		}
	}
}

// up folds contributions to the roots of cargoes. A rank waits for results only if it gets them.
func (w *writer) up(cargoes []cargo, after arrivals) {
	for i := range cargoes {
		c := &cargoes[i]
		own := make([]ir.Slot, len(c.chunks))
		for j, k := range c.chunks {
			own[j] = ir.Input(k.Index())
		}
		from := make([][][]ir.Slot, len(c.children)) // by rank, by child: the partial results
		for _, v := range slices.Backward(c.Order) {
			rank := int(v)
			send := own
			if len(from[v]) > 0 || rank == c.Root {
				send = w.fold(c, rank, own, from[v])
			}
			if rank == c.Root {
				continue
			}
			parent := int(c.Parent[v])
			as := w.values(parent, len(c.chunks))
			from[parent] = append(from[parent], as)
			put := ir.PutAllAs(parent, send, as)
			if len(from[v]) == 0 {
				w.own(rank, after(rank, c.piece), put)
			} else {
				w.rule(rank, send, put)
				w.done[rank] = append(w.done[rank], send...)
			}
		}
	}
}

// fold folds contributions with partial results. It returns the slots of the results.
func (w *writer) fold(c *cargo, rank int, own []ir.Slot, parts [][]ir.Slot) []ir.Slot {
	made := c.chunks
	if rank != c.Root {
		made = w.values(rank, len(own))
	}
	when := []ir.Slot{ir.Enter}
	for _, part := range parts {
		when = append(when, part...)
	}
	slices.Sort(when[1:])
	var do []ir.Action
	for j := range own {
		operands := []ir.Slot{own[j]}
		for _, part := range parts {
			operands = append(operands, part[j])
		}
		do = append(do, ir.FoldOf(made[j], operands...)...)
	}
	w.rule(rank, when, do)
	return made
}

// values returns n new partial results of a rank.
func (w *writer) values(rank, n int) []ir.Slot {
	p := &w.programs[rank]
	all := make([]ir.Slot, n)
	for i := range all {
		all[i] = ir.Value(p.Values)
		p.Values++
	}
	return all
}

// schedule returns the programs with a header.
func (w *writer) schedule(h ir.Header) *ir.Schedule {
	s := &ir.Schedule{Header: h, Programs: w.programs}
	for r := range s.Programs {
		p := &s.Programs[r]
		if len(w.enter[r]) > 0 {
			p.Rules = slices.Insert(p.Rules, 0, ir.Rule{When: []ir.Slot{ir.Enter}, Do: w.enter[r]})
		}
		held, wanted := h.Held(r), h.Wanted(r)
		for k := range h.Chunks {
			if wanted.Has(k) && !held.Has(k) {
				p.Done = append(p.Done, ir.Chunk(k))
			}
		}
		if p.Done = append(p.Done, w.done[r]...); len(p.Done) == 0 {
			p.Done = []ir.Slot{ir.Enter}
		}
	}
	return s
}
