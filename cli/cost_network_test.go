package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/synth"
)

// TestLoadsOfSchedules checks that cost counts on the arcs of a network what package synth planned
// to send over them.
func TestLoadsOfSchedules(t *testing.T) {
	for _, name := range []string{"star 5", "torus 3x3", "racks 2x3", "fat-tree 2x2x2", "mesh 2x3"} {
		kind, sizes, _ := strings.Cut(name, " ")
		n, err := network.Generate(kind, sizes, network.Options{Rate: 1e9, Trunk: 5e8})
		require.NoError(t, err)
		for _, c := range synth.Collectives() {
			p, err := synth.Plan(n, synth.Options{Collective: c, Pieces: 2})
			require.NoError(t, err)
			s := p.Schedule()
			of, err := netCostOf(n, s)
			require.NoError(t, err)
			require.InDeltaSlice(t, p.Loads, of.loads, 1e-9, "%s %s", name, c)
			require.InDelta(t, p.Ratio, of.ratio, 1e-9)
			require.Equal(t, p.Bound, *of.bound)
		}
	}
}
