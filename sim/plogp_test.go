package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// TestPLogPOfALineIsLogGP checks that LogGP is the special case in which everything is on one line.
func TestPLogPOfALineIsLogGP(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		time := func(name string, most int) sim.Time { return sim.Time(rapid.IntRange(0, most).Draw(t, name)) }
		m := sim.LogGP{L: time("L", 5000), O: time("o", 2000), Gap: time("g", 2000), GPerByte: sim.PerByte(1000 * time("G", 9)), OPerByte: sim.PerByte(1000 * time("O", 3))}
		of := func(bytes int) sim.PLogPSize {
			further := sim.Time(bytes - 1)
			wire, cpu := further*sim.Time(m.GPerByte)/1000, further*sim.Time(m.OPerByte)/1000
			return sim.PLogPSize{Bytes: bytes, Send: m.O + cpu, Recv: m.O + cpu + wire, Gap: m.Gap + wire}
		}
		p := sim.PLogP{L: m.L, Sizes: []sim.PLogPSize{of(1), of(1000), of(100_000)}}
		name := rapid.SampledFrom([]string{"bcast/binomial", "bcast/chain", "bcast/linear"}).Draw(t, "algorithm")
		params := schedule.Params{Ranks: rapid.IntRange(1, 20).Draw(t, "ranks"), Chunks: rapid.IntRange(1, 9).Draw(t, "chunks")}
		bytes := rapid.IntRange(0, 3_000_000).Draw(t, "bytes")
		want := simulate(t, name, params, sim.Config{Model: m, Bytes: bytes}).Makespan
		require.Equal(t, want, simulate(t, name, params, sim.Config{Model: p, Bytes: bytes}).Makespan)
	})
}

// TestPLogPBetweenLengths checks costs between two lengths, before the first and beyond the last.
func TestPLogPBetweenLengths(t *testing.T) {
	sizes := []sim.PLogPSize{{Bytes: 10, Send: 100, Recv: 50, Gap: 20}, {Bytes: 20, Send: 100, Recv: 150, Gap: 20}, {Bytes: 40, Send: 80, Recv: 550, Gap: 20}}
	for bytes, want := range map[int]sim.Time{0: 157, 1: 157, 10: 157, 15: 207, 20: 257, 30: 447, 40: 637, 50: 837, 140: 2637} {
		m := sim.PLogP{L: 7, Sizes: sizes}
		require.Equal(t, want, simulate(t, "bcast/linear", schedule.Params{Ranks: 2}, sim.Config{Model: m, Bytes: bytes}).Makespan, "%d bytes", bytes)
	}
	one := sim.PLogP{L: 7, Sizes: sizes[:1]}
	require.EqualValues(t, 157, simulate(t, "bcast/linear", schedule.Params{Ranks: 2}, sim.Config{Model: one, Bytes: 1000}).Makespan)
	require.Equal(t, "PLogP L=7 10B: os=100 or=50 g=20 40B: os=80 or=550 g=20", sim.PLogP{L: 7, Sizes: sizes}.String())
}

func TestPLogPRefuses(t *testing.T) {
	spec, err := schedule.New("bcast/linear", schedule.Params{Ranks: 2})
	require.NoError(t, err)
	for want, m := range map[string]sim.PLogP{
		"no length of a message":      {},
		"a parameter is negative":     {L: -1, Sizes: []sim.PLogPSize{{Bytes: 1}}},
		"at 1 bytes: a parameter":     {Sizes: []sim.PLogPSize{{Bytes: 1, Recv: -1}}},
		"4 bytes: lengths must be as": {Sizes: []sim.PLogPSize{{Bytes: 4}, {Bytes: 4}}},
		"-1 bytes: lengths":           {Sizes: []sim.PLogPSize{{Bytes: -1}}},
		"times could exceed":          {Sizes: []sim.PLogPSize{{Bytes: 1}, {Bytes: 2, Gap: 1 << 40}}},
	} {
		_, err := sim.Run(spec, sim.Config{Model: m, Bytes: 1 << 40})
		require.ErrorContains(t, err, want)
	}
}
