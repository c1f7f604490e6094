package sim_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// TestStarIsLinks checks that on a star model Network gives the times, counts and loads of model
// Links, whatever the schedule and the machine.
func TestStarIsLinks(t *testing.T) {
	algorithms := schedule.Algorithms()
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom(algorithms).Draw(t, "algorithm")
		p := schedule.Params{Ranks: rapid.IntRange(1, 24).Draw(t, "ranks")}
		row, _ := ir.CollectiveNamed(a.Collective)
		if row.Rooted {
			p.Root = rapid.IntRange(0, p.Ranks-1).Draw(t, "root")
		}
		if row.Blocks != nil && !a.Uncut() && a.Name != "bcast/symmetric" {
			p.Chunks = rapid.IntRange(1, 4).Draw(t, "chunks")
		}
		spec, err := schedule.New(a.Name, p)
		require.NoError(t, err)
		c := drawConfig(t, p.Ranks)
		c.Hosts, c.Switch = 0, 0
		c.Fold = sim.PerByte(rapid.IntRange(0, 1000).Draw(t, "fold"))
		o := sim.Time(rapid.IntRange(0, 5000).Draw(t, "o"))
		up := sim.Link{Rate: rapid.Int64Range(1e8, 1e10).Draw(t, "up"), Delay: sim.Time(rapid.IntRange(0, 5000).Draw(t, "delay up"))}
		down := sim.Link{Rate: rapid.Int64Range(1e8, 1e10).Draw(t, "down"), Delay: sim.Time(rapid.IntRange(0, 5000).Draw(t, "delay down"))}
		c.Model = sim.Links{O: o, Up: up, Down: down}
		want, err := sim.Run(spec, c)
		require.NoError(t, err)
		star, err := network.Generate("star", strconv.Itoa(p.Ranks), network.Options{Rate: up.Rate, Delay: int64(up.Delay)})
		require.NoError(t, err)
		for i := range star.Arcs {
			if x := &star.Arcs[i]; !star.IsRank(x.From) {
				x.Rate, x.Delay = down.Rate, int64(down.Delay)
			}
		}
		c.Model = sim.Network{O: o, Net: star}
		got, err := sim.Run(spec, c)
		require.NoError(t, err)
		for host, load := range want.Loads {
			require.Equal(t, load.Up, got.ArcLoads[star.Find(host, p.Ranks)])
			require.Equal(t, load.Down, got.ArcLoads[star.Find(p.Ranks, host)])
		}
		want.Loads, got.ArcLoads = nil, nil
		require.Equal(t, want, got)
	})
}
