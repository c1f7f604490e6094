package explore

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// rooted returns a call of an operation that has a root.
func rooted(t testing.TB, name string, ranks, root int) Call {
	spec, err := schedule.New(name, schedule.Params{Ranks: ranks, Root: root, Chunks: 1})
	require.NoError(t, err)
	alg := spec.Algorithm()
	return Call{Schedule: spec.Schedule(), Acked: alg.Acknowledged()}
}

// collectives are the algorithms of collective operations.
func collectives(yield func(name string) bool) {
	for _, a := range schedule.Algorithms() {
		if a.Collective != schedule.Anycast && !yield(a.Name) {
			return
		}
	}
}

// of returns a call of an algorithm, with that root if it has one.
func of(t testing.TB, name string, ranks, root int) Call {
	collective, _, _ := strings.Cut(name, "/")
	if row, _ := ir.CollectiveNamed(collective); row.Rooted {
		return rooted(t, name, ranks, root)
	}
	return callOf(t, name, ranks, 1)
}

// Two operations open at once, of every pair of algorithms, from different roots. A rank's puts of
// the second must not block its puts of the first. Without SCHEDGEN_HEAVY, every algorithm is first
// once and second once.
func TestTwoOpen(t *testing.T) {
	all := slices.Collect(collectives)
	for i, first := range all {
		seconds := heavy.Or([]string{all[(i+len(all)/2)%len(all)]}, all)
		for _, second := range seconds {
			t.Run(first+" "+second, func(t *testing.T) {
				for ranks := 2; ranks <= 3; ranks++ {
					sound(t, Options{
						Ranks: ranks, Open: 2, Losses: 1, States: heavy.Or(2_000, 20_000),
						Calls: []Call{of(t, first, ranks, 0), of(t, second, ranks, ranks-1)},
					})
				}
			})
		}
	}
}

// Two operations open at once, and one rank dies, or cancels one of them.
func TestTwoOpenWithADeath(t *testing.T) {
	for _, names := range [][2]string{
		{"bcast/mcast-acktree", "bcast/chain"}, {"bcast/chain", "bcast/mcast-chain"},
		{"barrier/dissemination", "bcast/mcast-acktree"}, {"barrier/hsb", "barrier/hsb"},
	} {
		t.Run(names[0]+" "+names[1], func(t *testing.T) {
			o := Options{Ranks: 3, Open: 2, Losses: 1, Crash: true, States: far()}
			o.Calls = []Call{of(t, names[0], 3, 0), of(t, names[1], 3, 2)}
			sound(t, o)
			o.Losses, o.Quit = 0, true
			sound(t, o)
			o.Crash, o.Cancel = false, true
			sound(t, o)
		})
	}
}

// Two operations open at once with options that affect only multicasts, and more calls than may be
// open.
func TestTwoOpenMulticasts(t *testing.T) {
	twice := func(first, second string) []Call { return []Call{of(t, first, 3, 0), of(t, second, 3, 1)} }
	long := calls(t, 2, 3, "bcast/mcast-acktree", "bcast/mcast-acktree")
	for what, o := range map[string]Options{
		"window":      {Ranks: 2, Calls: long, Losses: 1, Window: 1},
		"pieces":      {Ranks: 2, Calls: long[:2], Losses: 1, Pieces: 2},
		"nothing":     {Ranks: 3, Calls: twice("bcast/mcast-acktree", "bcast/mcast-chain"), NoMulticast: true, Early: 1},
		"fixed":       {Ranks: 3, Calls: twice("bcast/mcast-acktree", "bcast/mcast-chain"), Delay: core.DelayFixed, Early: 1},
		"adaptive":    {Ranks: 3, Calls: twice("bcast/mcast-acktree", "bcast/mcast-acktree"), Losses: 1, Delay: core.DelayAdaptive},
		"random peer": {Ranks: 3, Calls: twice("bcast/mcast-chain", "bcast/mcast-acktree"), Losses: 1, Delay: core.DelayRandomPeer},
		"four calls":  {Ranks: 2, Calls: calls(t, 2, 1, "bcast/chain", "barrier/hsb", "bcast/mcast-acktree", "bcast/binomial"), Losses: 1},
		"messages":    {Ranks: 2, Calls: calls(t, 2, 1, "bcast/chain", "bcast/mcast-acktree", "anycast/skip-ring", "barrier/hsb"), Losses: 1},
	} {
		t.Run(what, func(t *testing.T) {
			o.Open, o.States = 2, far()
			sound(t, o)
		})
	}
}

// far is the number of states to explore if there are more.
func far() int { return heavy.Or(4_000, 100_000) }
