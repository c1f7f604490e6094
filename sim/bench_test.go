package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

func spec(t testing.TB, name string, p schedule.Params) *schedule.Spec {
	t.Helper()
	s, err := schedule.New(name, p)
	require.NoError(t, err)
	return s
}

// BenchmarkRun simulates operations with the parameters of LogGOPSim, again in the
// same memory, and says how many events a second that is: sends, arrivals and
// receives, as LogGOPSim counts them. Programs are made anew in each.
func BenchmarkRun(b *testing.B) {
	for _, c := range []struct {
		name      string
		algorithm string
		p         schedule.Params
	}{
		{"dissemination-65536", "barrier/dissemination", schedule.Params{Ranks: 65536, Degree: 2}},
		{"binomial-65536", "bcast/binomial", schedule.Params{Ranks: 65536}},
		{"linear-32768", "bcast/linear", schedule.Params{Ranks: 32768}},
		{"hsb-32768", "barrier/hsb", schedule.Params{Ranks: 32768, FanIn: 32767, FanOut: 32767}},
		{"mcast-chain-65536", "bcast/mcast-chain", schedule.Params{Ranks: 65536}},
		{"chain-1048576", "bcast/chain", schedule.Params{Ranks: 1 << 20}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, err := sim.New(spec(b, c.algorithm, c.p), sim.Config{Model: sim.DefaultLogGP(), Bytes: 1})
			require.NoError(b, err)
			events := int64(0)
			b.ReportAllocs()
			for b.Loop() {
				r, err := s.Run(1)
				require.NoError(b, err)
				require.NotEqual(b, sim.Never, r.Makespan)
				events += r.Counts.Events
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}
