package synth

import (
	"fmt"
	"math"
	"slices"

	"github.com/schedgen/schedgen/internal/flow"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/network"
)

// Collective is a collective for which the package makes schedules.
type Collective string

// The collectives.
const (
	Allgather     Collective = "allgather"
	ReduceScatter Collective = "reduce-scatter"
	Allreduce     Collective = "allreduce"
	Bcast         Collective = "bcast"
	Reduce        Collective = "reduce"
)

// Collectives returns all collectives.
func Collectives() []Collective {
	return []Collective{Allgather, ReduceScatter, Allreduce, Bcast, Reduce}
}

// Row returns the row of the collective in the table of package ir.
func (c Collective) Row() ir.Collective {
	row, _ := ir.CollectiveNamed(string(c))
	return row
}

// goesUp reports whether contributions go to roots, and goesDown whether blocks go from roots.
func (c Collective) goesUp() bool   { return c.Row().Inputs != nil }
func (c Collective) goesDown() bool { return !c.goesUp() || c.Row().Alike }

// Windows reports whether a window has an effect: all ranks send, and something comes to all.
func (c Collective) Windows() bool { return !c.Row().Rooted }

// Bound says how fast a network lets a collective be: a block of n bits needs Blocks·n/Rate seconds.
// The block of an allreduce is the whole vector.
type Bound struct {
	Collective Collective `json:"collective"`
	Ranks      int        `json:"ranks"`
	Blocks     int64      `json:"blocks"` // has no common divisor with Rate
	Rate       int64      `json:"rate"`   // bits a second
	// Cut is the names of the nodes that the blocks enter, or for reductions leave. It is empty if
	// the sum of the rates into all ranks limits an allreduce.
	Cut []string `json:"cut"`

	// Crossing is how many blocks enter the cut, and Over the rate at which they do: Crossing/Over
	// is Blocks/Rate before it is reduced.
	Crossing int64 `json:"-"`
	Over     int64 `json:"-"`
	Arcs     []int `json:"-"` // arcs of the network that enter the cut, or for reductions leave it
}

// Seconds returns how long a block of a number of bytes takes at least.
func (b Bound) Seconds(bytes int) float64 {
	return float64(b.Blocks) * float64(bytes) * 8 / float64(b.Rate)
}

// BoundOf returns the bound of a collective without a root, or with rank 0 as the root.
func BoundOf(n *network.Network, c Collective) (Bound, error) { return BoundFrom(n, c, 0) }

// BoundFrom returns the bound of a collective with a root. It fails if nothing leads to some rank, or
// if numbers of the computation do not fit into 62 bits.
func BoundFrom(n *network.Network, c Collective, root int) (Bound, error) {
	if err := check(n, c, root); err != nil {
		return Bound{}, err
	}
	if c.goesUp() && c.goesDown() {
		return allreduceBound(n)
	}
	return boundOf(newProblem(n, c.weights(len(n.Ranks), root), c.goesUp()), c)
}

func check(n *network.Network, c Collective, root int) error {
	if !slices.Contains(Collectives(), c) {
		return fmt.Errorf("no schedules of %s are made", c)
	}
	if err := n.Check(); err != nil {
		return err
	}
	if root < 0 || root >= len(n.Ranks) {
		return fmt.Errorf("root %d of %d ranks", root, len(n.Ranks))
	}
	return nil
}

// weights returns by rank how many blocks it is the root of.
func (c Collective) weights(ranks, root int) []int64 {
	w, row := make([]int64, ranks), c.Row()
	for r := range w {
		if !row.Rooted || r == root {
			w[r] = 1
		}
	}
	return w
}

func boundOf(p *problem, c Collective) (Bound, error) {
	b := Bound{Collective: c, Ranks: len(p.n.Ranks)}
	if b.Ranks == 1 {
		b.Rate = 1
		return b, nil
	}
	cut, err := p.bottleneck()
	if err != nil {
		return b, err
	}
	p.describe(&b, cut)
	return b, nil
}

// describe writes a cut into a bound.
func (p *problem) describe(b *Bound, c cut) {
	b.Crossing, b.Over = c.weight, c.out*p.unit // at most the sum of all rates: checked
	d := gcd(b.Crossing, b.Over)
	b.Blocks, b.Rate = b.Crossing/d, b.Over/d
	for v, in := range c.in {
		if !in {
			b.Cut = append(b.Cut, p.n.NameOf(v))
		}
	}
	for _, a := range p.n.Arcs {
		if c.in[a.From] && !c.in[a.To] {
			if p.turned {
				a.From, a.To = a.To, a.From
			}
			b.Arcs = append(b.Arcs, p.of.Find(a.From, a.To))
		}
	}
}

// allreduceBound returns the larger of two bounds: a vector must cross the least cut between ranks,
// and 2(P-1) vectors must come to all ranks together. No schedule need reach it.
func allreduceBound(n *network.Network) (Bound, error) {
	ranks := len(n.Ranks)
	b := Bound{Collective: Allreduce, Ranks: ranks, Rate: 1}
	if ranks == 1 {
		return b, nil
	}
	p := newProblem(n, Bcast.weights(ranks, 0), false)
	// A cut between ranks leaves rank 0 on one of its sides.
	least, err := p.bottleneck()
	if err != nil {
		return b, err
	}
	back := newProblem(n, Bcast.weights(ranks, 0), true)
	other, err := back.bottleneck()
	if err != nil {
		return b, err
	}
	if other.out < least.out {
		p, least = back, other
	}
	p.describe(&b, least)
	var into int64
	for _, a := range n.Arcs {
		if n.IsRank(a.To) {
			var ok bool
			if into, ok = add(into, a.Rate); !ok {
				return b, errTooLarge
			}
		}
	}
	crossing := 2 * int64(ranks-1)
	// crossing/into > Blocks/Rate
	if x, y := mul(crossing, b.Rate), mul(b.Blocks, into); x < 0 || y < 0 {
		return b, errTooLarge
	} else if x > y {
		d := gcd(crossing, into)
		b = Bound{Collective: Allreduce, Ranks: ranks, Blocks: crossing / d, Rate: into / d, Crossing: crossing, Over: into}
	}
	return b, nil
}

// problem is a network in which all ranks want the blocks of roots.
type problem struct {
	of      *network.Network // as it was given
	n       *network.Network // with its arcs turned for reductions
	turned  bool
	weights []int64 // by rank: blocks
	all     int64   // sum of the weights
	rates   []int64 // by arc of n, in units
	unit    int64   // the greatest common divisor of all rates
}

func newProblem(n *network.Network, weights []int64, turned bool) *problem {
	p := &problem{of: n, n: n, turned: turned, weights: weights}
	if turned {
		p.n = n.Reversed()
	}
	for _, w := range weights {
		p.all += w
	}
	for _, a := range p.n.Arcs {
		p.unit = gcd(p.unit, a.Rate)
	}
	for _, a := range p.n.Arcs {
		p.rates = append(p.rates, a.Rate/p.unit)
	}
	return p
}

// cut is a set of nodes that leaves out at least one rank.
type cut struct {
	in     []bool // by node
	weight int64  // of the roots in it
	out    int64  // rate that leaves it, in units
}

var errTooLarge = fmt.Errorf("numbers of this network do not fit into 62 bits: rates with a larger common divisor would")

func (p *problem) cutOf(in []bool) (cut, error) {
	c := cut{in: in}
	for i, a := range p.n.Arcs {
		if in[a.From] && !in[a.To] {
			var ok bool
			if c.out, ok = add(c.out, p.rates[i]); !ok {
				return c, errTooLarge
			}
		}
	}
	for r, w := range p.weights {
		if in[r] {
			c.weight += w
		}
	}
	if mul(c.out, p.unit) < 0 {
		return c, errTooLarge
	}
	if c.out == 0 && c.weight > 0 {
		return c, p.unreached(in)
	}
	return c, nil
}

// unreached returns the error for a set that nothing leaves.
func (p *problem) unreached(in []bool) error {
	var from []int
	first := -1
	for v := range in {
		if in[v] {
			from = append(from, v)
		} else if first < 0 && p.n.IsRank(v) {
			first = v
		}
	}
	names := p.n.NamesOf(from)
	if len(names) > 200 {
		names = fmt.Sprintf("%s … (%d nodes)", names[:200], len(from))
	}
	if p.turned {
		return fmt.Errorf("nothing gets from rank %d (%s) to {%s}", first, p.n.NameOf(first), names)
	}
	return fmt.Errorf("nothing reaches rank %d (%s) from {%s}", first, p.n.NameOf(first), names)
}

// bottleneck returns the cut with the largest weight/out. There are at least two ranks.
func (p *problem) bottleneck() (cut, error) {
	nodes := p.n.Nodes()
	best := cut{out: 1}
	better := func(c cut) (bool, error) { // c.weight/c.out > best.weight/best.out
		x, y := mul(c.weight, best.out), mul(best.weight, c.out)
		if x < 0 || y < 0 {
			return false, errTooLarge
		}
		return x > y, nil
	}
	for r := range p.weights {
		in := make([]bool, nodes)
		for v := range in {
			in[v] = v != r
		}
		c, err := p.cutOf(in)
		if err != nil {
			return c, err
		}
		if b, err := better(c); err != nil {
			return c, err
		} else if b {
			best = c
		}
	}
	g := flow.New(nodes + 1)
	source := nodes
	for _, a := range p.n.Arcs {
		g.Arc(a.From, a.To, 0)
	}
	roots := g.Arcs()
	for r := range p.weights {
		g.Arc(source, r, 0)
	}
	f := g.Zero()
	for {
		d := gcd(best.weight, best.out)
		num, den := best.weight/d, best.out/d
		for i, rate := range p.rates {
			if g.Cap[i] = mul(num, rate); g.Cap[i] < 0 {
				return best, errTooLarge
			}
		}
		want := mul(den, p.all)
		if want < 0 {
			return best, errTooLarge
		}
		for r, w := range p.weights {
			g.Cap[roots+r] = den * w // at most want
		}
		was := best
		for r := range p.weights {
			clear(f)
			if g.Augment(f, source, r, want) == want {
				continue
			}
			in := make([]bool, nodes)
			for v := range in {
				in[v] = g.Reached(v)
			}
			c, err := p.cutOf(in)
			if err != nil {
				return c, err
			}
			if b, err := better(c); err != nil {
				return c, err
			} else if b {
				best = c
			}
		}
		if same := was.weight == best.weight && was.out == best.out; same {
			return best, nil
		}
	}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// mul returns the product of two numbers that are not negative, or -1 if flows of it could overflow.
func mul(a, b int64) int64 {
	if b != 0 && a > flow.Inf/b {
		return -1
	}
	return a * b
}

// add returns a sum, and whether flows of it cannot overflow.
func add(a, b int64) (int64, bool) {
	if a > math.MaxInt64-b || a+b > flow.Inf {
		return 0, false
	}
	return a + b, true
}
