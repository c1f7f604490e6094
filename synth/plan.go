package synth

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/schedule/build"
)

// Options say which schedule to make. The zero value of a field is its default.
type Options struct {
	Collective Collective
	Root       int
	// Trees is the number of trees a block. Default: as many as reach the bound, or fewer, of at most
	// 8, that come within 5 % of it. A number needs links that are as fast in both directions.
	Trees int
	// Pieces is the number of pieces in which each tree's part of a block goes one after the other;
	// default 1.
	Pieces int
	// Window bounds how far a rank sends ahead: it sends piece l of what it contributes when it has
	// piece l-Window of everything that it gets. 0: it sends all at once. Plan takes 0 unless
	// [Collective.Windows] says that a window has an effect.
	Window int
	// Spread lets trees use many neighbours of a rank rather than few.
	Spread bool
}

// Planned is what a schedule is made of.
type Planned struct {
	Options Options
	Bound   Bound
	// Trees is the trees of all roots. Those of an allreduce go up to their roots, and others down
	// from them. The roots are all ranks, or one: whichever loads the busiest link less.
	Trees []Tree
	K     int64 // trees a block, in each direction; a vector has one block for each root
	Roots int
	Depth int // of the deepest tree
	// Loads is by arc of the network the blocks of the collective that cross it, if all messages take
	// the network's own routes. The block of an allreduce is the whole vector.
	Loads []float64
	// Ratio is how many times as long as the bound the busiest arc is busy. It is 1 for one rank.
	Ratio   float64
	Detours Detours

	n     *network.Network
	alike bool // contributions go up and blocks go down
}

// MaxPuts bounds the chunks that a schedule puts: a [build.Builder] has up to four pieces for each.
const MaxPuts = build.MaxActions / 8

// Plan makes the trees of a schedule. It fails if nothing leads to a rank, if a switch does not send
// at the rate at which it receives, if numbers do not fit into 62 bits, or if the schedule would have more than
// [MaxPuts] puts. Wrong options are a *[FlagError].
func Plan(n *network.Network, o Options) (*Planned, error) {
	if err := check(n, o.Collective, o.Root); err != nil {
		return nil, err
	}
	o.Pieces = max(o.Pieces, 1)
	for _, f := range []struct {
		name string
		of   int
	}{{"trees", o.Trees}, {"pieces", o.Pieces}, {"window", o.Window}} {
		if f.of < 0 || f.of > ir.MaxParam {
			return nil, &FlagError{f.name, fmt.Sprint(f.of), fmt.Sprintf("must be in 0..%d", ir.MaxParam)}
		}
	}
	if !o.Collective.Windows() {
		o.Window = 0
	}
	b, err := BoundFrom(n, o.Collective, o.Root)
	if err != nil {
		return nil, err
	}
	p, err := plan(n, o, b, o.Collective.weights(len(n.Ranks), o.Root))
	if err != nil {
		return nil, err
	}
	if p.alike {
		one, err := plan(n, o, b, Bcast.weights(len(n.Ranks), o.Root))
		if err != nil {
			return nil, err
		}
		if one.Ratio < p.Ratio {
			p = one
		}
	}
	if err := p.fits(); err != nil {
		return nil, err
	}
	return p, nil
}

// plan makes the trees for roots with weights.
func plan(n *network.Network, o Options, b Bound, weights []int64) (*Planned, error) {
	p := &Planned{Options: o, Bound: b, K: 1, Ratio: 1, n: n, alike: o.Collective.Row().Alike}
	for _, w := range weights {
		p.Roots += int(w)
	}
	if len(n.Ranks) == 1 {
		p.Trees, p.Loads = []Tree{{Weight: 1, Parent: []int32{-1}, Order: []int32{0}, Up: o.Collective.goesUp()}}, make([]float64, len(n.Arcs))
		return p, nil
	}
	up, down := o.Collective.goesUp(), o.Collective.goesDown()
	var err error
	if up {
		if p.Trees, p.K, p.Detours, err = treesOf(newProblem(n, weights, true), o); err != nil {
			return nil, err
		}
		for i := range p.Trees {
			p.Trees[i].Up = true
		}
	}
	if down {
		trees, k, detours := p.Trees, p.K, p.Detours
		if _, fast := n.AsFast(); !up || !fast { // else the trees serve both ways
			if trees, k, detours, err = treesOf(newProblem(n, weights, false), o); err != nil {
				return nil, err
			}
		}
		trees = slices.Clone(trees)
		for i := range trees {
			trees[i].Up = false
		}
		if err := p.join(trees, k, detours); err != nil {
			return nil, err
		}
	}
	for _, t := range p.Trees {
		p.Depth = max(p.Depth, t.Depth)
	}
	return p, p.load()
}

// join adds trees with k for each block. Afterwards as many go up as down.
func (p *Planned) join(trees []Tree, k int64, detours Detours) error {
	if len(p.Trees) > 0 {
		d := gcd(p.K, k)
		both := mul(p.K/d, k)
		if both < 0 || both > ir.MaxParam {
			return errTooLarge
		}
		for i := range p.Trees {
			p.Trees[i].Weight *= both / p.K
		}
		for i := range trees {
			trees[i].Weight *= both / k
		}
		k = both
	}
	p.Trees, p.K = append(p.Trees, trees...), k
	p.Detours.Paths += detours.Paths
	p.Detours.OfPaths += detours.OfPaths
	p.Detours.Trees += detours.Trees
	p.Detours.OfTrees += detours.OfTrees
	return nil
}

// treesOf returns the trees of a problem, and how many there are for each block.
func treesOf(p *problem, o Options) (trees []Tree, k int64, d Detours, err error) {
	w, err := p.plan(o.Trees)
	if err != nil {
		return nil, 0, d, err
	}
	f, err := w.split(o.Spread)
	if err != nil {
		return nil, 0, d, err
	}
	if trees, err = f.pack(); err != nil {
		return nil, 0, d, err
	}
	return trees, w.k, f.detours(network.NewRouter(p.n)), nil
}

// load computes the loads of arcs.
func (p *Planned) load() error {
	p.Loads = make([]float64, len(p.n.Arcs))
	router := network.NewRouter(p.n)
	each := 1 / float64(p.K)
	if p.alike {
		each /= float64(p.Roots)
	}
	var route []int
	for _, t := range p.Trees {
		for _, v := range t.Order[1:] {
			from, to := int(t.Parent[v]), int(v)
			if t.Up {
				from, to = to, from
			}
			var err error
			if route, err = router.Route(route[:0], from, to); err != nil {
				return err
			}
			for _, arc := range route {
				p.Loads[arc] += each * float64(t.Weight)
			}
		}
	}
	p.Ratio = RatioOf(p.n, p.Bound, p.Loads)
	return nil
}

// RatioOf returns how many times as long as the bound the busiest arc is busy with loads, in blocks
// by arc.
func RatioOf(n *network.Network, b Bound, loads []float64) float64 {
	busy := 0.0
	for i, a := range n.Arcs {
		busy = max(busy, loads[i]/float64(a.Rate))
	}
	if b.Blocks == 0 {
		return 1
	}
	return busy / (float64(b.Blocks) / float64(b.Rate))
}
