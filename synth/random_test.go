package synth

import (
	"bytes"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/verify"
)

// random returns a network of at most 11 nodes whose switches send and receive at the same rate.
// Its links are as fast in both directions; or it consists of circuits; or rates differ much.
func random(rnd *rand.Rand) *network.Network {
	for {
		ranks, switches := 2+rnd.IntN(6), rnd.IntN(5)
		var b strings.Builder
		name := func(v int) string {
			if v < ranks {
				return fmt.Sprint("r", v)
			}
			return fmt.Sprint("s", v-ranks)
		}
		for v := range ranks + switches {
			what := "rank"
			if v >= ranks {
				what = "switch"
			}
			fmt.Fprintln(&b, what, name(v))
		}
		all, arcs := ranks+switches, 0
		add := func(what string, from, to int, rate int) {
			if from != to {
				fmt.Fprintf(&b, "%s %s %s %dbit\n", what, name(from), name(to), rate)
				arcs++
			}
		}
		kind := rnd.IntN(3)
		for range all + rnd.IntN(2*all) {
			switch kind {
			case 0:
				add("link", rnd.IntN(all), rnd.IntN(all), 1+rnd.IntN(9))
			case 1:
				at, rate := rnd.IntN(ranks), 1+rnd.IntN(6)
				for {
					to := rnd.IntN(all)
					if to == at {
						continue
					}
					add("arc", at, to, rate)
					if at = to; at < ranks {
						break
					}
				}
			case 2:
				add("link", rnd.IntN(ranks), rnd.IntN(all), []int{1, 10, 100, 25, 300}[rnd.IntN(5)])
			}
		}
		n, err := network.Parse(strings.NewReader(b.String()))
		if err == nil && arcs > 0 && newProblem(n, Allgather.weights(ranks, 0), false).balanced() == nil {
			return n
		}
	}
}

// largest looks at all cuts. It returns nil if nothing leads to some rank.
func largest(p *problem) *big.Rat {
	nodes := p.n.Nodes()
	best := new(big.Rat)
	in := make([]bool, nodes)
	for m := range 1 << nodes {
		var weight, out int64
		whole := true
		for v := range nodes {
			if in[v] = m>>v&1 == 1; p.n.IsRank(v) {
				if whole = whole && in[v]; in[v] {
					weight += p.weights[v]
				}
			}
		}
		if whole || weight == 0 {
			continue
		}
		for i, a := range p.n.Arcs {
			if in[a.From] && !in[a.To] {
				out += p.rates[i]
			}
		}
		if out == 0 {
			return nil
		}
		if r := big.NewRat(weight, out); r.Cmp(best) > 0 {
			best = r
		}
	}
	return best
}

// The bound is that of the worst cut, and trees that reach it, or as few as were asked for, load no
// link more than they may.
func TestBoundAgainstAllCuts(t *testing.T) {
	packed := 0
	for seed := range heavy.Seeds(heavy.Or(150, 6000)) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		n := random(rnd)
		weights := make([]int64, len(n.Ranks))
		switch rnd.IntN(3) {
		case 0:
			weights = Allgather.weights(len(weights), 0)
		case 1:
			weights = Bcast.weights(len(weights), rnd.IntN(len(weights)))
		case 2:
			for r := range weights {
				weights[r] = rnd.Int64N(4)
			}
			weights[0]++
		}
		p := newProblem(n, weights, rnd.IntN(2) == 0)
		want := largest(p)
		c, err := p.bottleneck()
		if want == nil {
			require.ErrorContains(t, err, "nothing ", "seed %d", seed)
			continue
		}
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, want.String(), c.best().String(), "seed %d", seed)
		w, err := p.optimal(c)
		require.NoError(t, err)
		require.Equal(t, want.String(), new(big.Rat).Quo(w.span, big.NewRat(w.k, 1)).String(), "seed %d", seed)
		plans := []*whole{w}
		if _, fast := n.AsFast(); fast {
			for k := int64(1); k <= 3; k++ {
				few, err := p.fixed(c, k)
				require.NoError(t, err)
				require.GreaterOrEqual(t, few.ratio().Cmp(w.ratio()), 0, "seed %d: less than the bound", seed)
				require.GreaterOrEqual(t, leastSpan(p, k).Cmp(few.span), 0, "seed %d: not the least", seed)
				plans = append(plans, few)
			}
		}
		for _, w := range plans {
			f, err := w.split(rnd.IntN(2) == 0)
			require.NoError(t, err, "seed %d", seed)
			trees, err := f.pack()
			require.NoError(t, err, "seed %d", seed)
			requireTrees(t, f, trees, seed)
			packed++
		}
	}
	t.Log(packed, "packings")
}

// leastSpan tries all spans m/rate in ascending order.
func leastSpan(p *problem, k int64) *big.Rat {
	try := p.newTrial(k)
	for at := new(big.Rat); ; {
		next := above(p.rates, new(big.Rat).Add(at, big.NewRat(1, 1<<40)))
		if ok, _ := try.enough(next); ok {
			return next
		}
		at = next
	}
}

// requireTrees requires that the trees span all ranks, are as many as they must be, and load no arc
// between ranks, and no arc of the network, more than it may be.
func requireTrees(t testing.TB, f *fabric, trees []Tree, seed uint64) {
	load := make(map[pair]int64)
	sum := make([]int64, len(f.weights))
	for _, tree := range trees {
		sum[tree.Root] += tree.Weight
		require.Len(t, tree.Order, len(sum), "seed %d", seed)
		seen := map[int32]bool{int32(tree.Root): true}
		for _, v := range tree.Order[1:] {
			require.True(t, seen[tree.Parent[v]] && !seen[v], "seed %d: not a tree", seed)
			seen[v] = true
			load[pair{tree.Parent[v], v}] += tree.Weight
		}
	}
	for r, weight := range f.weights {
		require.Equal(t, f.k*weight, sum[r], "seed %d", seed)
	}
	arcs := make(map[pair]int64)
	for e, paths := range f.paths() {
		left := load[pair{f.from[e], f.to[e]}]
		require.LessOrEqual(t, left, f.caps[e], "seed %d", seed)
		delete(load, pair{f.from[e], f.to[e]})
		for _, p := range paths {
			m := min(left, p.amount)
			left -= m
			for i := 1; i < len(p.nodes); i++ {
				arcs[pair{p.nodes[i-1], p.nodes[i]}] += m
			}
		}
		require.Zero(t, left, "seed %d", seed)
	}
	require.Empty(t, load, "seed %d", seed)
	for i, a := range f.n.Arcs {
		require.LessOrEqual(t, arcs[pair{int32(a.From), int32(a.To)}], f.whole.caps[i], "seed %d", seed)
	}
}

// Every schedule, written and read back, is proved.
func TestSchedulesAreProved(t *testing.T) {
	proved := map[Collective]int{}
	for seed := range heavy.Seeds(heavy.Or(30, 400)) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		n := random(rnd)
		for _, c := range Collectives() {
			o := Options{Collective: c, Root: rnd.IntN(len(n.Ranks)), Pieces: 1 + rnd.IntN(3), Window: rnd.IntN(3), Spread: rnd.IntN(2) == 0}
			p, err := Plan(n, o)
			if err != nil {
				require.ErrorContains(t, err, "nothing ", "seed %d", seed)
				continue
			}
			require.GreaterOrEqual(t, p.Ratio, 1-1e-9, "seed %d", seed)
			if p.K*int64(p.Roots) > 400 {
				continue
			}
			s := p.Schedule()
			var b bytes.Buffer
			require.NoError(t, ir.WriteText(&b, s))
			read, err := ir.ParseText(&b)
			require.NoError(t, err, "seed %d", seed)
			report, err := verify.Run(read)
			require.NoError(t, err)
			require.NoError(t, report.Err(), "seed %d: %+v", seed, o)
			proved[c]++
		}
	}
	t.Log(proved)
	for _, c := range Collectives() {
		require.NotZero(t, proved[c])
	}
}
