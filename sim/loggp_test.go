package sim_test

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

func makespan(t testing.TB, name string, p schedule.Params, c sim.Config) sim.Time {
	t.Helper()
	r, err := sim.Run(spec(t, name, p), c)
	require.NoError(t, err)
	return r.Makespan
}

// TestFiguresOfLogGOPSim checks the times that LogGOPSim itself prints for the GOAL files of these
// schedules.
func TestFiguresOfLogGOPSim(t *testing.T) {
	for _, c := range []struct {
		algorithm     string
		ranks, degree int
		want          sim.Time
	}{
		{"bcast/binomial", 8, 0, 16500},
		{"bcast/binomial", 64, 0, 33000},
		{"bcast/binomial", 256, 0, 44000},
		{"bcast/binomial", 1024, 0, 55000},
		{"bcast/binomial", 65536, 0, 88000},
		{"barrier/dissemination", 1024, 2, 55000},
		{"barrier/dissemination", 4096, 2, 66000},
		{"barrier/dissemination", 16384, 2, 77000},
		{"barrier/dissemination", 65536, 2, 88000},
	} {
		got := makespan(t, c.algorithm, schedule.Params{Ranks: c.ranks, Degree: c.degree}, sim.Config{Model: sim.DefaultLogGP(), Bytes: 1})
		require.Equal(t, c.want, got, "%s of %d", c.algorithm, c.ranks)
	}
}

// drawLogGP draws parameters and a message length. The time of each byte but the first is a whole
// number of ns.
func drawLogGP(t *rapid.T) (m sim.LogGP, bytes int, wire sim.Time) {
	time := rapid.Custom(func(t *rapid.T) sim.Time { return sim.Time(rapid.IntRange(0, 10_000).Draw(t, "ns")) })
	perByte := rapid.IntRange(0, 50).Draw(t, "G")
	m = sim.LogGP{L: time.Draw(t, "L"), O: time.Draw(t, "o"), Gap: time.Draw(t, "g"), GPerByte: sim.PerByte(perByte * 1000)}
	bytes = rapid.IntRange(0, 5000).Draw(t, "bytes")
	return m, bytes, sim.Time(perByte * (max(bytes, 1) - 1))
}

// TestClosedFormsOfLogGP checks closed forms, with d between the starts of two sends and h from a
// send to what it triggers at its receiver. The last of P-1 sends of linear begins after P-2 times
// d. The last rank of a chain is P-1 times h away. A binomial tree of 2^k ranks that serves the
// longest path first ends k-1 times the larger of both after its first h.
func TestClosedFormsOfLogGP(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, bytes, wire := drawLogGP(t)
		c := sim.Config{Model: m, Bytes: bytes}
		ranks := rapid.IntRange(2, 80).Draw(t, "ranks")
		root := rapid.IntRange(0, ranks-1).Draw(t, "root")
		d, h := max(m.O, m.Gap+wire), 2*m.O+m.L+wire
		of := func(name string) sim.Time {
			s, err := schedule.New(name, schedule.Params{Ranks: ranks, Root: root})
			require.NoError(t, err)
			r, err := sim.Run(s, c)
			require.NoError(t, err)
			return r.Makespan
		}
		require.Equal(t, sim.Time(ranks-2)*d+h, of("bcast/linear"))
		require.Equal(t, sim.Time(ranks-1)*h, of("bcast/chain"))
		k := bits.Len(uint(ranks)) - 1
		ranks, root = 1<<k, root&(1<<k-1)
		require.Equal(t, h+sim.Time(k-1)*max(d, h), of("anycast/circulant"))
		require.Equal(t, h+sim.Time(k-1)*max(d, h), of("bcast/binomial"))
	})
}
