package papers

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// TestLinear checks equations (1) to (5) of paper 004 with numbers computed by hand.
func TestLinear(t *testing.T) {
	l := Linear{T0: 100, Td: 2}
	require.Equal(t, 120.0, l.Transfer(10))
	require.Equal(t, 360.0, l.Broadcast(10, 3))
	require.Equal(t, 120.0, l.Scatter(10))
	require.InDelta(t, 200+20*(2-1.0/4), l.Symmetric(10, 4), 1e-9)
	require.Equal(t, l.Transfer(10), l.Symmetric(10, 1))
	require.Equal(t, 360.0, l.Tree(10, 7))
	require.Equal(t, 480.0, l.Tree(10, 8))
	for i := 1; i <= 7; i++ { // equation (3) counts pieces from 1
		lo, hi := ir.ChunkBounds(23, 7, i-1)
		require.Equal(t, (i-1)*23/7, lo)
		require.Equal(t, i*23/7-(i-1)*23/7, hi-lo)
	}
}

// TestLinearIsSimulated checks that equations (2) and (5) agree with the simulator for messages
// that the destinations divide.
func TestLinearIsSimulated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.IntRange(2, 20).Draw(t, "p")
		n := p * rapid.IntRange(1, 1000).Draw(t, "bytes of a piece")
		l := Linear{T0: float64(rapid.IntRange(0, 100_000).Draw(t, "t0")), Td: float64(rapid.IntRange(0, 100).Draw(t, "td"))}
		model := sim.Linear{T0: sim.Time(l.T0), PerByte: sim.PerByte(1000 * l.Td)}
		r, err := simulate(symmetricName, schedule.Params{Ranks: p + 1}, sim.Config{Model: model, Bytes: n})
		require.NoError(t, err)
		require.InDelta(t, l.Symmetric(n, p), float64(r.Makespan), 1e-3)
		model.Sync = true
		r, err = simulate(linearName, schedule.Params{Ranks: p + 1}, sim.Config{Model: model, Bytes: n})
		require.NoError(t, err)
		require.InDelta(t, l.Broadcast(n, p), float64(r.Makespan), 1e-3)
	})
}

// TestReturnsAreSimulated checks that the closed forms of paper 000 agree with the simulator, rank
// by rank, for any machine.
func TestReturnsAreSimulated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.IntRange(1, 5000)
		c := cluster{
			model:   sim.LogGP{L: sim.Time(times.Draw(t, "L")), O: sim.Time(times.Draw(t, "o"))},
			prepare: sim.Time(times.Draw(t, "prepare")),
		}
		c.model.Gap = sim.Time(rapid.IntRange(0, 2*int(c.model.O)).Draw(t, "g"))
		p := rapid.IntRange(1, 200).Draw(t, "p")
		config := c.config()
		config.Delay.Fixed = 0
		tree, err := simulate(tree000, schedule.Params{Ranks: p}, config)
		require.NoError(t, err)
		stages, err := simulate(mcast000, schedule.Params{Ranks: p}, c.config())
		require.NoError(t, err)
		for r := range p {
			require.Equal(t, tree.Returns[r], c.treeReturn(p, r), "tree, rank %d of %d", r, p)
			require.Equal(t, stages.Returns[r], c.stagesReturn(p, r), "stages, rank %d of %d", r, p)
		}
		if p > 1 {
			config = c.config()
			config.Loss = 1
			worst, err := simulate(mcast000, schedule.Params{Ranks: p}, config)
			require.NoError(t, err)
			require.Equal(t, c.worstReturn(p), worst.Makespan, "all lost, %d ranks", p)
			treed, err := simulate(treed000, schedule.Params{Ranks: p}, config)
			require.NoError(t, err)
			require.Equal(t, c.treedWorstReturn(p), treed.Makespan, "all lost, %d ranks, a tree", p)
		}
	})
}

// TestPenaltyByEnumeration compares the closed forms with all ways in which ten ranks can lose a
// multicast.
func TestPenaltyByEnumeration(t *testing.T) {
	const n = 10
	for _, epsilon := range []float64{0, 0.1, 0.5, 0.9, 1} {
		var means [n + 1]float64
		var most, tail float64
		longest := [n + 1]float64{}
		for lost := range 1 << n { // bit v-1: rank v has lost it
			k := bits.OnesCount(uint(lost))
			chance := math.Pow(epsilon, float64(k)) * math.Pow(1-epsilon, float64(n-k))
			run, longestRun := 0, 0
			for v := 1; v <= n; v++ {
				run = (run + 1) * (lost >> (v - 1) & 1)
				longestRun = max(longestRun, run)
				means[v] += chance * float64(run)
			}
			most += chance * float64(longestRun)
			longest[longestRun] += chance
			if run >= 3 {
				tail += chance
			}
		}
		sum, below := 0.0, 0.0
		for v := 1; v <= n; v++ {
			require.InDelta(t, means[v], PenaltyMean(epsilon, v), 1e-9, "ε=%v v=%d", epsilon, v)
			sum += means[v] / n
		}
		for k := range n + 1 {
			below += longest[k]
			require.InDelta(t, below, LongestRun(epsilon, n, k), 1e-9, "ε=%v k=%d", epsilon, k)
		}
		require.InDelta(t, sum, PenaltyMeanOf(epsilon, n+1), 1e-9)
		require.InDelta(t, most, WorstPenaltyMean(epsilon, n), 1e-9)
		require.InDelta(t, tail, PenaltyTail(epsilon, 3), 1e-9)
	}
	require.InDelta(t, 1.0, PenaltyMean(0.5, 50), 1e-9) // section 2.2
}

// TestTable1 checks that the percentages of paper 002 agree with its own times, which shows that
// they were read correctly.
func TestTable1(t *testing.T) {
	for _, row := range table1 {
		require.InDelta(t, row.speedup, 100*(1-row.ackTree/row.mpi), 0.006, "%d nodes", row.nodes)
	}
}

// TestSCI checks the closed forms of paper 003 with numbers computed by hand, and with the
// simulator if writing and reading a flag take equally long.
func TestSCI(t *testing.T) {
	s := SCI{Write: 2, Check: 100, Read: 3}
	require.Equal(t, 2*(100+2*5.0), s.Dissemination(9, 3)) // two steps of two flags
	require.Equal(t, 100+8*5.0, s.Dissemination(9, 9))
	require.Zero(t, s.Dissemination(1, 2))
	require.Equal(t, 2+4*3+4*2+100.0, s.HSB(5, 4, 4)) // a flag in, four read, four written, the check
	require.Zero(t, s.HSB(1, 4, 4))
	rapid.Check(t, func(t *rapid.T) {
		flag := rapid.IntRange(0, 1000).Draw(t, "flag")
		p, n := rapid.IntRange(1, 60).Draw(t, "p"), rapid.IntRange(2, 20).Draw(t, "n")
		check := 2*flag*n + rapid.IntRange(0, 5000).Draw(t, "check beyond all writes of a step")
		s := SCI{Write: float64(flag), Read: float64(flag), Check: float64(check)}
		r, err := simulate(disseminationName, schedule.Params{Ranks: p, Degree: n},
			sim.Config{Model: sim.LogGP{O: sim.Time(flag), Check: sim.Time(check)}})
		require.NoError(t, err)
		require.InDelta(t, s.Dissemination(p, n), float64(r.Makespan), 1e-3)
	})
}

// TestSkipRingDepth checks that the depth is exact for the farthest origin if the number of ranks
// is a power of two, and a bound otherwise.
func TestSkipRingDepth(t *testing.T) {
	for p := 1; p <= 70; p++ {
		s, err := overOrigins(skipRing, p)
		require.NoError(t, err)
		require.LessOrEqual(t, s.most, float64(SkipRingDepth(p)), "P=%d", p)
		if p&(p-1) == 0 {
			require.Equal(t, float64(SkipRingDepth(p)), s.most, "P=%d", p)
		}
		require.EqualValues(t, p-1, s.fewest)
		require.EqualValues(t, p-1, s.many)
	}
}

// TestSymmetricBusy checks that equation (5) with the overhead of fragments is within a sixth of
// the simulation. For small messages equation (5) alone gives a third of it.
func TestSymmetricBusy(t *testing.T) {
	for p := 1; p <= most004; p++ {
		for _, n := range []int{2, 128, 512, 2 << 10, 8 << 10, 64 << 10, 512 << 10} {
			simulated, err := simulated004(symmetricName, p, n)
			require.NoError(t, err)
			require.InEpsilon(t, simulated, busySymmetric004(n, p)/1e6, 0.18, "%d B to %d", n, p)
		}
	}
	simulated, err := simulated004(symmetricName, most004, 2)
	require.NoError(t, err)
	require.Less(t, linear004.Symmetric(2, most004)/1e6, simulated/3)
}

// TestLoop compares the cost of a message in a loop with a loop of many messages, run with a queue
// for the CPU and two for the interface of each rank.
func TestLoop(t *testing.T) {
	for _, p := range []int{2, 3, 8, 23, 64} {
		for _, n := range []int{1, 1000, 10_000} {
			spec, err := schedule.New(skipRing, schedule.Params{Ranks: p})
			require.NoError(t, err)
			took := func(messages int) float64 {
				wire := float64(n-1) * float64(cori.GPerByte) / 1000
				o, g, l := float64(cori.O), float64(cori.Gap), float64(cori.L)
				cpu, in, out := make([]float64, p), make([]float64, p), make([]float64, p)
				for range messages {
					type arrival struct {
						rank int
						at   float64
					}
					for next := []arrival{{}}; len(next) > 0; next = next[1:] {
						r := next[0].rank
						if r > 0 {
							start := max(next[0].at, cpu[r], in[r])
							cpu[r], in[r] = start+o+wire, start+g+wire
						}
						program := spec.Program(r)
						for _, rule := range program.Rules {
							for _, a := range rule.Do {
								start := max(cpu[r], out[r])
								cpu[r], out[r] = start+o, start+g+wire
								next = append(next, arrival{int(a.To), start + o + l})
							}
						}
					}
				}
				return slices.Max(cpu)
			}
			want, err := loop001(skipRing, p, n)
			require.NoError(t, err)
			require.InEpsilon(t, want*1e3, (took(400)-took(200))/200, 1e-6, "%d ranks, %d B", p, n)
		}
	}
}

// TestChannels checks that the drawing shows the same as figures 1 to 3 of paper 001.
func TestChannels(t *testing.T) {
	of := func(id string) *Figure {
		found, err := Find(id)
		require.NoError(t, err)
		f, err := found[0].Make(t.Context(), Options{})
		require.NoError(t, err)
		return f
	}
	list, ring, way := of("001/1"), of("001/2"), of("001/3")
	require.Equal(t, []Point{{0, 4}}, list.Series[2].Points)
	require.Equal(t, []Point{{0, 4}, {4, 0}}, ring.Series[2].Points)
	require.Equal(t, []Point{{0, 2}, {2, 4}, {4, 6}, {6, 0}}, ring.Series[1].Points)
	require.Len(t, list.Series[0].Points, 7)
	require.Len(t, ring.Series[0].Points, 8)
	require.Equal(t, []Point{{2, 4}, {4, 6}}, way.Series[4].Points, "to a higher level, since it is new there")
	require.Equal(t, []Point{{4, 0}}, way.Series[5].Points)
}
