package synth

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// choice returns the algorithm for a case among the ranks of n.
func choice(t testing.TB, r *selection.Rules, n *network.Network, collective string, bytes int) string {
	d, ok := r.Of(selection.Case{Collective: collective, Ranks: len(n.Ranks), Bytes: bytes, Place: selection.OneEach})
	require.True(t, ok)
	return d.Rule.Algorithm
}

// Long allgathers among three sites go along trees, and short ones as usual.
func TestSites(t *testing.T) {
	n := read(t, "sites")
	r, err := Rules(context.Background(), n, nil)
	require.NoError(t, err)
	for _, rule := range r.List() {
		t.Logf("%s %v %s %+v: %s", rule.Collective, rule.Bytes, rule.Algorithm, rule.Params, rule.Reason)
	}
	require.Contains(t, choice(t, r, n, "allgather", 1<<20), "allgather/net-")
	require.NotContains(t, choice(t, r, n, "barrier", 0), "net-")
	again, err := Rules(context.Background(), n, nil)
	require.NoError(t, err)
	require.Same(t, r, again, "made once")
	d, ok := r.Of(selection.Case{Collective: "allgather", Ranks: 11, Bytes: 1 << 20, Place: selection.OneEach})
	require.True(t, ok)
	require.NotContains(t, d.Rule.Algorithm, "net-", "for the ranks of the network alone")
	name := choice(t, r, n, "allgather", 1<<20)
	_, err = schedule.New(name, schedule.Params{Ranks: 11})
	require.ErrorContains(t, err, "sites has 12 ranks")
}

// The rules of a program decide where no schedule for the network is better.
func TestOtherRules(t *testing.T) {
	n := read(t, "racks")
	base, err := selection.New([]selection.Rule{{Collective: "bcast", Algorithm: "bcast/linear"}, {Collective: "gather", Algorithm: "gather/binomial"}})
	require.NoError(t, err)
	r, err := Rules(context.Background(), n, base)
	require.NoError(t, err)
	require.Equal(t, "gather/binomial", choice(t, r, n, "gather", 1<<20))
	require.Contains(t, choice(t, r, n, "bcast", 4<<20), "bcast/net-")
}

func TestBadNetworks(t *testing.T) {
	n, err := network.Parse(strings.NewReader("rank a b\narc a b 1bit"))
	require.NoError(t, err)
	_, err = Rules(context.Background(), n, nil)
	require.ErrorContains(t, err, "nothing reaches rank 0 (a) from {b}")
	ctx, stop := context.WithCancel(context.Background())
	stop()
	_, err = Rules(ctx, read(t, "dgx1"), nil)
	require.ErrorIs(t, err, context.Canceled)
}
