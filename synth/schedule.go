package synth

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule/build"
)

// cargo is what goes along a tree.
type cargo struct {
	*Tree
	children [][]int32 // by rank, those with the deepest subtrees first
	of       int       // the root's place among the roots
	first    int       // the number of its first tree among those of the root
	pieces   int       // of the message
}

// Schedule returns the schedule. A block has pieces·K chunks, piece by piece.
func (p *Planned) Schedule() *ir.Schedule {
	s, err := build.Schedule(p.header(), p.Write)
	if err != nil {
		panic(fmt.Sprintf("synth: %v", err)) // the trees are not what Plan makes
	}
	return s
}

// header returns the header of the schedule.
func (p *Planned) header() ir.Header {
	o := p.Options
	h := ir.Header{Collective: string(o.Collective), Algorithm: "trees", Ranks: len(p.n.Ranks), Chunks: o.Pieces * int(p.K) * p.Roots, Params: []ir.Param{
		{Name: "pieces", Value: o.Pieces}, {Name: "trees", Value: int(p.K)}, {Name: "window", Value: o.Window},
	}}
	if o.Collective.Row().Rooted {
		h.Root = o.Root
	}
	return h
}

// fits returns an error if the schedule would have more than [MaxPuts] puts.
func (p *Planned) fits() error {
	if puts := p.Puts(p.Options.Pieces); puts > MaxPuts {
		ranks := len(p.n.Ranks)
		return fmt.Errorf("%s/trees would have %.2g million puts for each rank: lower --pieces or --trees", p.Options.Collective, float64(puts)/float64(ranks)/1e6)
	}
	return nil
}

// Puts returns how many chunks the schedule puts if it has a number of pieces, at most about 2^62.
func (p *Planned) Puts(pieces int) int64 {
	ways := max(int64(len(p.n.Ranks)-1), 1)
	if p.alike {
		ways *= 2
	}
	trees := mul(p.K, int64(p.Roots))
	if puts := mul(mul(max(trees, 0), int64(pieces)), ways); trees >= 0 && puts >= 0 {
		return puts
	}
	return 1 << 62
}

// Write writes the schedule of the trees, with as many pieces as the chunks of b make. It is for
// [schedule.Definition].
func (p *Planned) Write(b *build.Builder) {
	pieces := b.Chunks() / (int(p.K) * p.Roots)
	if pieces*int(p.K)*p.Roots != b.Chunks() {
		b.Refuse("its %d trees need a multiple of %d chunks of all blocks", int(p.K)*p.Roots, int(p.K)*p.Roots)
	}
	up, down := p.cargoes(pieces)
	w := &writer{b: b, p: p, held: !p.Options.Collective.goesUp(), came: make(map[place][]build.Piece), results: make(map[int]build.Piece)}
	for piece := range pieces {
		for i := range up {
			w.up(&up[i], piece)
		}
		for i := range down {
			w.down(&down[i], piece)
		}
	}
}

// cargoes returns what goes along trees up and what goes down.
func (p *Planned) cargoes(pieces int) (up, down []cargo) {
	first := make(map[int]int) // by root: its place among the roots
	at := make(map[[2]int]int) // by root and direction: trees so far
	for i := range p.Trees {
		t := &p.Trees[i]
		if _, ok := first[t.Root]; !ok {
			first[t.Root] = len(first)
		}
		c := cargo{Tree: t, children: t.children(), of: first[t.Root], pieces: pieces}
		if t.Up {
			c.first = at[[2]int{t.Root, 1}]
			at[[2]int{t.Root, 1}] += int(t.Weight)
			up = append(up, c)
		} else {
			c.first = at[[2]int{t.Root}]
			at[[2]int{t.Root}] += int(t.Weight)
			down = append(down, c)
		}
	}
	return up, down
}

// chunk returns the chunk of a tree of a root in a piece. The vector of an allreduce is cut into
// pieces, each of which has a part for each root. Blocks of other collectives are cut one by one.
func (p *Planned) chunk(c *cargo, piece, tree int) int {
	k := int(p.K)
	if p.alike {
		return (piece*p.Roots+c.of)*k + c.first + tree
	}
	return (c.of*c.pieces+piece)*k + c.first + tree
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

// place is a rank in a piece.
type place struct{ rank, piece int }

// writer writes a schedule.
type writer struct {
	b    *build.Builder
	p    *Planned
	held bool // roots hold what goes down; otherwise they fold it
	// came has the last chunk of each cargo that has come to a rank, or was folded there, for windows.
	came    map[place][]build.Piece
	results map[int]build.Piece // by chunk: at the root of its trees
}

// own returns the chunks of a cargo that a rank contributes, when it may send them.
func (w *writer) own(c *cargo, rank, piece int) []build.Piece {
	var after []build.Piece
	if window := w.p.Options.Window; window > 0 {
		after = w.came[place{rank, piece - window}]
	}
	all := make([]build.Piece, c.Weight)
	for i := range all {
		all[i] = w.b.Chunk(rank, w.p.chunk(c, piece, i))
		if len(after) > 0 {
			all[i] = all[i].After(after...)
		}
	}
	return all
}

// down sends a cargo from its root.
func (w *writer) down(c *cargo, piece int) {
	at := make([][]build.Piece, len(c.Parent)) // by rank
	if w.held {
		at[c.Root] = w.own(c, c.Root, piece)
	} else {
		for i := range int(c.Weight) {
			at[c.Root] = append(at[c.Root], w.results[w.p.chunk(c, piece, i)])
		}
	}
	for _, v := range c.Order {
		for _, to := range c.children[v] {
			got := build.PutTogether(int(to), at[v]...)
			at[to] = got
			k := place{int(to), piece}
			w.came[k] = append(w.came[k], got[len(got)-1])
			if !w.held {
				for _, p := range got {
					p.Result()
				}
			}
		}
	}
}

// up folds contributions to the root of a cargo.
func (w *writer) up(c *cargo, piece int) {
	parts := make([][][]build.Piece, len(c.Parent)) // by rank: what has come from each child
	for _, v := range slices.Backward(c.Order) {
		var made []build.Piece
		if len(parts[v]) == 0 && int(v) != c.Root {
			made = w.own(c, int(v), piece)
		} else {
			for i := range int(c.Weight) {
				var others []build.Piece
				for _, part := range parts[v] {
					others = append(others, part[i])
				}
				made = append(made, w.b.Chunk(int(v), w.p.chunk(c, piece, i)).Fold(others...))
			}
		}
		if int(v) == c.Root {
			for i, p := range made {
				p.Result()
				w.results[w.p.chunk(c, piece, i)] = p
			}
			k := place{c.Root, piece}
			w.came[k] = append(w.came[k], made[len(made)-1])
			return
		}
		parent := c.Parent[v]
		parts[parent] = append(parts[parent], build.PutTogether(int(parent), made...))
	}
}
