package cli

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/model/fit"
	"github.com/schedgen/schedgen/internal/model/grid"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/transport/pace"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

func TestTunedGrids(t *testing.T) {
	require.Equal(t, []int{1, 2, 4, 8, 10}, doublings(1, 10))
	require.Equal(t, []int{3, 6, 12}, doublings(3, 12))
	require.Equal(t, []int{1, 4, 10}, everyOther(doublings(1, 10)))
	require.Equal(t, []int{1, 4, 8}, everyOther([]int{1, 2, 4, 8}))
	require.Equal(t, []int{2}, tunedRanks(2))
	require.Equal(t, []int{2, 3, 4, 6, 8, 12, 16, 32, 50}, tunedRanks(50))
	require.Equal(t, []int{2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 512, 1024}, tunedRanks(1024))
}

// TestTimedRanksAreOfTheGrid checks that all timed numbers of ranks, except the largest, are
// numbers of the model's grid. So no rule of the model is without effect.
func TestTimedRanksAreOfTheGrid(t *testing.T) {
	for most := 2; most <= maxRunRanks; most++ {
		timed := tunedRanks(most)
		require.Subset(t, tunedRanks(maxTunedRanks), timed[:len(timed)-1])
		for _, n := range tunedRanks(maxTunedRanks) {
			require.True(t, n >= most || timed[0] <= n)
			if n < most {
				require.Contains(t, timed, n)
			}
		}
	}
}

// TestTimedCell checks that the interval of a candidate covers the intervals of all its runs.
func TestTimedCell(t *testing.T) {
	c := timedCell{runs: []fit.Interval{{Value: 10, Low: 9, High: 11}, {Value: 14, Low: 12, High: 15}}}
	require.Equal(t, fit.Interval{Value: 12, Low: 9, High: 15}, c.time())
	h := crew.NewTimes()
	for ns := int64(1); ns <= 100; ns++ {
		crew.Record(h, 10*ns)
	}
	m := medianOf(h)
	require.InDelta(t, 505, m.Value, 1)
	require.InDelta(t, 400, m.Low, 1)
	require.InDelta(t, 610, m.High, 1)
	require.True(t, math.IsInf(medianOf(hdrhistogram.New(1, 10, 3)).High, 1))
}

// TestWhereRulesHold checks for which cases rules are made.
func TestWhereRulesHold(t *testing.T) {
	costs, _, err := pace.Here()
	require.NoError(t, err)
	for _, c := range []struct {
		link  crew.Link
		netns bool
		want  selection.Case
	}{
		{crew.Link{Transport: overTCP}, false, selection.Case{Place: selection.OneHost}},
		{crew.Link{Transport: overMcast, Interface: "lo"}, false, selection.Case{Place: selection.OneHost, Multicast: true}},
		{crew.Link{Transport: overShm}, false, selection.Case{Place: selection.OneHost, Multicast: true, Memory: true, Pace: costs, Rings: costs.Casts(4)}},
		{crew.Link{Transport: overTCP}, true, selection.Case{Place: selection.OneEach}},
		{crew.Link{Transport: overMcast, Interface: "eth0"}, true, selection.Case{Place: selection.OneEach, Multicast: true}},
	} {
		cmd := &tuneCmd{Ranks: &source.Ranks{Lo: 4, Hi: 4}, tuneFlags: tuneFlags{Size: sizeRange{1, 64}, UpTo: 64, Collective: []string{schedule.Bcast}}}
		cmd.Netns, cmd.Transport = c.netns, c.link.Transport
		of := &tuned{cmd: cmd, link: c.link}
		c.want.Collective = schedule.Bcast
		require.Equal(t, c.want, of.where(rowOf(schedule.Bcast), true))
		require.Equal(t, selection.Case{Collective: schedule.Bcast, Place: selection.OneEach}, of.where(rowOf(schedule.Bcast), false))
		require.Equal(t, []int{1, 4, 16, 64}, of.grids(true)[0].Sizes)
		of.machine = &fit.Machine{Sizes: []fit.Size{{Bytes: 1}, {Bytes: 2}, {Bytes: 4}, {Bytes: 8}}}
		require.Equal(t, []int{1, 4, 8}, of.grids(false)[0].Sizes, "what was not measured")
	}
}

// TestChoices checks that the built-in choice comes first and that no choice comes twice.
func TestChoices(t *testing.T) {
	flat := fit.Size{OneWay: fit.Exactly(9000), Send: fit.Exactly(2000), Recv: fit.Exactly(2000), Gap: fit.Exactly(3000)}
	var sizes []fit.Size
	for _, bytes := range doublings(1, 1<<20) {
		flat.Bytes = bytes
		sizes = append(sizes, flat)
	}
	of := &tuned{machine: fit.NewMachine(sizes)}
	for _, c := range []selection.Case{
		{Collective: schedule.Bcast, Ranks: 5, Bytes: 1 << 20, Place: selection.OneHost},
		{Collective: schedule.Bcast, Ranks: 5, Bytes: 4, Place: selection.OneHost, Multicast: true, Memory: true},
		{Collective: schedule.Barrier, Ranks: 5, Place: selection.OneHost},
	} {
		cells, err := of.choices(c)
		require.NoError(t, err)
		require.Equal(t, grid.BuiltIn(c), cells[0].Choice)
		seen := map[grid.Choice]bool{}
		for _, cell := range cells {
			require.False(t, seen[cell.Choice], "%v", cell)
			seen[cell.Choice] = true
		}
		require.GreaterOrEqual(t, len(cells), len(candidates(c.Collective, c.Multicast)))
	}
}

func TestThreeDigits(t *testing.T) {
	for want, v := range map[string]float64{
		"0": 0, "1.23": 1.2345, "12.3": 12.345, "123": 123.45, "12345": 12345.4, "0.0123": 0.012345, "0.00001": 0.00001, "-1.50": -1.5,
	} {
		require.Equal(t, want, threeDigits(v))
	}
	require.Equal(t, "[1.00, 2.00]", ends(fit.Interval{Low: 1000, High: 2000}, 1e-3))
	require.Equal(t, "[?]", ends(fit.Median([]float64{1, 2}), 1))
}

// TestTunesEveryCollective makes rules for every collective that ranks call, with each of its
// algorithms.
func TestTunesEveryCollective(t *testing.T) {
	require.Equal(t, []string{"barrier", "bcast", "reduce", "allreduce", "scatter", "gather", "allgather", "reduce-scatter", "scan", "exscan", "anyreduce", "alltoall"}, tunable())
	flat := fit.Size{OneWay: fit.Exactly(9000), Send: fit.Exactly(2000), Recv: fit.Exactly(2000), Gap: fit.Exactly(3000)}
	var sizes []fit.Size
	for _, bytes := range doublings(1, 4<<10) {
		flat.Bytes = bytes
		sizes = append(sizes, flat)
	}
	of := &tuned{machine: fit.NewMachine(sizes), cmd: &tuneCmd{Ranks: &source.Ranks{Lo: 4, Hi: 4}, tuneFlags: tuneFlags{
		Size: sizeRange{1, 4 << 10}, UpTo: 1024, Collective: tunable(),
	}}}
	for i, g := range of.grids(true) {
		row := rowOf(tunable()[i])
		cases := g.Cases()
		last := cases[len(cases)-1]
		require.Equal(t, row.Name, last.Collective)
		cells, err := of.choices(last)
		require.NoError(t, err)
		for _, name := range candidates(row.Name, last.Multicast) {
			require.True(t, slices.ContainsFunc(cells, func(c timedCell) bool { return c.Algorithm == name }), name)
		}

		// On a simulated machine the last algorithm takes half the time of the others.
		best := cells[len(cells)-1].Choice
		of.timed = map[selection.Case][]timedCell{}
		for _, c := range cases {
			built := grid.BuiltIn(c)
			of.timed[c] = []timedCell{{Choice: built, runs: []fit.Interval{fit.Exactly(100)}}}
			if built != best {
				of.timed[c] = append(of.timed[c], timedCell{Choice: best, runs: []fit.Interval{fit.Exactly(50)}})
			}
		}
		rules, err := g.Rules(of.ofTimes())
		require.NoError(t, err)
		require.NotEmpty(t, rules, row.Name)
		for _, r := range rules {
			require.Equal(t, best.Algorithm, r.Algorithm)
			require.Contains(t, r.Reason, "measured: takes 50 % less")
		}
		_, err = grid.Table(rules)
		require.NoError(t, err)
	}
	ends := map[string]int{"allgather": 32, "alltoall": 32, "anyreduce": 512}
	for i, g := range of.grids(false) {
		want := cmp.Or(ends[tunable()[i]], 1024)
		require.Equal(t, want, g.Ranks[len(g.Ranks)-1], tunable()[i])
	}
}

// TestTuneForMulticast checks that the model makes rules for networks with multicast, and that the
// second stage of a broadcast is a tree if half of the ranks lose it.
func TestTuneForMulticast(t *testing.T) {
	const tune = "tune --from-model --collective bcast --up-to 16 --size 1B..32B --multicast"
	rules := func(args string) string {
		code, out, said := execute(t, tune+args)
		require.Zero(t, code, said)
		return out
	}
	none, half := rules(" --loss 0"), rules(" --loss 0.5")
	require.NotContains(t, none, `"max":16}`, "the built-in choice is as good")
	require.Contains(t, half, `"multicast":true,"memory":false,"algorithm":"bcast/mcast-binomial"`)
	require.NotEqual(t, half, rules(" --loss 0.5 --fanout-lag 1ms"))
	for args, want := range map[string]string{
		"tune --from-model --loss 0.1": "--loss: needs --multicast", "tune --from-model --repair 1ms": "--repair: needs --multicast",
		"tune --from-model --fanout-lag 1ms": "--fanout-lag: needs --multicast", tune + " --loss 2": "--loss=2: must be in 0..1",
	} {
		code, _, said := execute(t, args)
		require.NotZero(t, code)
		require.Contains(t, said, want)
	}
}
