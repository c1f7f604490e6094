package synth

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/schedgen/schedgen/internal/flow"
)

// whole says how many whole trees each arc may carry.
type whole struct {
	*problem
	k    int64   // trees a block
	caps []int64 // by arc: trees, at most
	// A tree is a k-th of a block. An arc with a rate of one unit carries span trees in the time in
	// which all trees are sent, so a block of n bits takes span·n/(k·unit) seconds.
	span *big.Rat
	cut  cut
}

// ratio returns the seconds that a block of one bit takes.
func (w *whole) ratio() *big.Rat {
	return new(big.Rat).Quo(w.span, new(big.Rat).SetInt(new(big.Int).Mul(big.NewInt(w.k), big.NewInt(w.unit))))
}

// best returns the ratio of the bound.
func (c cut) best() *big.Rat { return big.NewRat(c.weight, c.out) }

// If more than fewest trees a block are needed to reach the bound, at most so many are tried, which
// must come within the factor enough of it. If they do not, and at most most trees reach the bound,
// these are taken.
const (
	fewest = 8
	most   = 128
)

var enough = big.NewRat(105, 100)

// plan chooses how many trees a block has. want is their number, or 0.
func (p *problem) plan(want int) (*whole, error) {
	if err := p.balanced(); err != nil {
		return nil, err
	}
	c, err := p.bottleneck()
	if err != nil {
		return nil, err
	}
	arc, fast := p.n.AsFast()
	if want > 0 {
		if !fast {
			a := p.n.Arcs[arc]
			if p.turned {
				a.From, a.To = a.To, a.From
			}
			return nil, &FlagError{"trees", fmt.Sprint(want), fmt.Sprintf("needs links that are as fast in both directions; arc %s %s is not", p.n.NameOf(a.From), p.n.NameOf(a.To))}
		}
		return p.fixed(c, int64(want))
	}
	best, err := p.optimal(c)
	if err != nil || !fast || best.k <= fewest {
		return best, err
	}
	limit := new(big.Rat).Mul(c.best(), enough)
	var few *whole
	for k := int64(1); k <= fewest; k++ {
		w, err := p.fixed(c, k)
		if err != nil {
			return nil, err
		}
		each := new(big.Rat).Quo(w.span, big.NewRat(k, 1))
		if each.Cmp(limit) <= 0 {
			return w, nil
		}
		if few == nil || w.ratio().Cmp(few.ratio()) < 0 {
			few = w
		}
	}
	if best.k <= most {
		return best, nil
	}
	return few, nil
}

// balanced returns an error if a switch sends at another rate than it receives.
func (p *problem) balanced() error {
	in, out := make([]int64, p.n.Nodes()), make([]int64, p.n.Nodes())
	for i, a := range p.n.Arcs {
		var ok, too bool
		out[a.From], ok = add(out[a.From], p.rates[i])
		in[a.To], too = add(in[a.To], p.rates[i])
		if !ok || !too || mul(out[a.From], p.unit) < 0 || mul(in[a.To], p.unit) < 0 {
			return errTooLarge
		}
	}
	for v := len(p.n.Ranks); v < p.n.Nodes(); v++ {
		if in[v] != out[v] {
			receives, sends := in[v]*p.unit, out[v]*p.unit
			if p.turned {
				receives, sends = sends, receives
			}
			r, s := rateWords(receives, sends)
			return fmt.Errorf("switch %s receives %s and sends %s: a switch must do both at the same rate", p.n.NameOf(v), r, s)
		}
	}
	return nil
}

// optimal returns the least number of trees that reaches the bound.
func (p *problem) optimal(c cut) (*whole, error) {
	d := gcd(c.weight, c.out)
	num, den := c.weight/d, c.out/d
	g := den
	for _, rate := range p.rates {
		g = gcd(g, rate)
	}
	w := &whole{problem: p, k: den / g, span: big.NewRat(num, g), cut: c}
	for _, rate := range p.rates {
		trees := mul(rate/g, num)
		if trees < 0 {
			return nil, errTooLarge
		}
		w.caps = append(w.caps, trees)
	}
	if mul(w.k, p.all) < 0 {
		return nil, errTooLarge
	}
	return w, nil
}

// fixed returns the best plan with k trees a block, for links that are as fast in both directions:
// the least span for which the whole parts of span·rate are enough. Such a span is some m/rate.
func (p *problem) fixed(c cut, k int64) (*whole, error) {
	kinds := slices.Clone(p.rates)
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	try := p.newTrial(k)
	least := new(big.Rat).Mul(c.best(), big.NewRat(k, 1))
	high := above(kinds, least)
	ok, err := try.enough(high)
	if err != nil {
		return nil, err
	}
	for low := high; !ok; {
		// low is not enough. Find a span that is, and then halve the distance between them.
		low, high = high, above(kinds, new(big.Rat).Mul(high, big.NewRat(2, 1)))
		if ok, err = try.enough(high); err != nil {
			return nil, err
		}
		for ok {
			next := between(kinds, low, high)
			if next == nil {
				break
			}
			is, err := try.enough(next)
			if err != nil {
				return nil, err
			}
			if is {
				high = next
			} else {
				low = next
			}
		}
	}
	w := &whole{problem: p, k: k, span: high, cut: c}
	w.caps = try.floors(high)
	return w, nil
}

// between returns some m/rate near the middle of two others, or nil if none is between them.
func between(rates []int64, low, high *big.Rat) *big.Rat {
	mid := new(big.Rat).Add(low, high)
	mid.Mul(mid, big.NewRat(1, 2))
	if next := below(rates, mid); next.Cmp(low) > 0 {
		return next
	}
	if next := above(rates, mid); next.Cmp(high) < 0 {
		return next
	}
	return nil
}

// below returns the largest m/rate that is at most x.
func below(rates []int64, x *big.Rat) *big.Rat {
	best := new(big.Rat)
	for _, rate := range rates {
		m := floorOf(x, rate)
		if r := new(big.Rat).SetFrac(m, big.NewInt(rate)); r.Cmp(best) > 0 {
			best = r
		}
	}
	return best
}

// above returns the least m/rate that is at least x.
func above(rates []int64, x *big.Rat) *big.Rat {
	var best *big.Rat
	for _, rate := range rates {
		m := floorOf(x, rate)
		r := new(big.Rat).SetFrac(m, big.NewInt(rate))
		if r.Cmp(x) < 0 {
			r.SetFrac(m.Add(m, big.NewInt(1)), big.NewInt(rate))
		}
		if best == nil || r.Cmp(best) < 0 {
			best = r
		}
	}
	return best
}

// floorOf returns the whole part of x·rate.
func floorOf(x *big.Rat, rate int64) *big.Int {
	m := new(big.Int).Mul(x.Num(), big.NewInt(rate))
	return m.Quo(m, x.Denom())
}

// trial tries spans.
type trial struct {
	*problem
	k       int64
	g       *flow.Graph
	f       flow.Flow
	from    int // the source
	want    int64
	suspect int // the rank that was not reached last
}

func (p *problem) newTrial(k int64) *trial {
	t := &trial{problem: p, k: k, g: flow.New(p.n.Nodes() + 1), from: p.n.Nodes(), want: mul(k, p.all)}
	for _, a := range p.n.Arcs {
		t.g.Arc(a.From, a.To, 0)
	}
	for r, w := range p.weights {
		t.g.Arc(t.from, r, k*w)
	}
	t.f = t.g.Zero()
	return t
}

// floors returns by arc the whole part of span·rate, or -1 if it is too large.
func (t *trial) floors(span *big.Rat) []int64 {
	caps := make([]int64, len(t.rates))
	for i, rate := range t.rates {
		caps[i] = -1
		if m := floorOf(span, rate); m.IsInt64() && m.Int64() < flow.Inf {
			caps[i] = m.Int64()
		}
	}
	return caps
}

// enough reports whether k trees a block fit into the whole parts of span·rate.
func (t *trial) enough(span *big.Rat) (bool, error) {
	caps := t.floors(span)
	if slices.Contains(caps, -1) || t.want < 0 {
		return false, errTooLarge
	}
	copy(t.g.Cap, caps)
	for i := range t.weights {
		r := (t.suspect + i) % len(t.weights)
		clear(t.f)
		if t.g.Augment(t.f, t.from, r, t.want) < t.want {
			t.suspect = r
			return false, nil
		}
	}
	return true, nil
}

// FlagError is an error about an option. Flag is its name on the command line, without hyphens.
type FlagError struct{ Flag, Value, Reason string }

// Error returns the flag, its value and the reason.
func (e *FlagError) Error() string { return fmt.Sprintf("--%s=%s: %s", e.Flag, e.Value, e.Reason) }

// rateWords spells two rates in one unit, such as "300 Mbit/s" and "310".
func rateWords(a, b int64) (string, string) {
	units := []struct {
		name string
		of   int64
	}{{"Gbit/s", 1e9}, {"Mbit/s", 1e6}, {"kbit/s", 1e3}, {"bit/s", 1}}
	for _, u := range units {
		if a%u.of == 0 && b%u.of == 0 {
			return fmt.Sprintf("%d %s", a/u.of, u.name), fmt.Sprintf("%d", b/u.of)
		}
	}
	return fmt.Sprint(a), fmt.Sprint(b)
}
