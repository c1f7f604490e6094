package sim_test

import (
	goruntime "runtime"
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

// runs are operations with the parameters of LogGOPSim.
var runs = []struct {
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
	{"binomial-1048576", "bcast/binomial", schedule.Params{Ranks: 1 << 20}},
	{"mcast-chain-1048576", "bcast/mcast-chain", schedule.Params{Ranks: 1 << 20}},
	{"mcast-acktree-1048576", "bcast/mcast-acktree", schedule.Params{Ranks: 1 << 20}},
	{"hsb-1048576", "barrier/hsb", schedule.Params{Ranks: 1 << 20, FanIn: 2, FanOut: 2}},
	{"dissemination-1048576", "barrier/dissemination", schedule.Params{Ranks: 1 << 20, Degree: 2}},
}

// BenchmarkRun simulates operations repeatedly in the same memory and reports events a second:
// sends, arrivals and receives, as LogGOPSim counts them. Each run makes its programs anew.
func BenchmarkRun(b *testing.B) {
	for _, c := range runs {
		b.Run(c.name, func(b *testing.B) {
			s := prepared(b, c.algorithm, c.p)
			events := int64(0)
			b.ReportAllocs()
			for b.Loop() {
				events += run(b, s)
			}
			report(b, events)
		})
	}
}

// BenchmarkFirstRun simulates operations in new memory and reports the bytes in use at the end, per
// rank and per event of a rank.
func BenchmarkFirstRun(b *testing.B) {
	for _, c := range runs {
		b.Run(c.name, func(b *testing.B) {
			before := inUse()
			events, held := int64(0), int64(0)
			for b.Loop() {
				s := prepared(b, c.algorithm, c.p)
				events += run(b, s)
				b.StopTimer()
				held += inUse() - before
				goruntime.KeepAlive(s)
				b.StartTimer()
			}
			report(b, events)
			b.ReportMetric(float64(held)/float64(b.N)/float64(c.p.Ranks), "B/rank")
			b.ReportMetric(float64(held)/float64(events), "B/event")
		})
	}
}

func prepared(b *testing.B, algorithm string, p schedule.Params) *sim.Sim {
	s, err := sim.New(spec(b, algorithm, p), sim.Config{Model: sim.DefaultLogGP(), Bytes: 1})
	require.NoError(b, err)
	return s
}

// run runs s and returns the number of events.
func run(b *testing.B, s *sim.Sim) int64 {
	r, err := s.Run(1)
	require.NoError(b, err)
	require.NotEqual(b, sim.Never, r.Makespan)
	return r.Counts.Events
}

func report(b *testing.B, events int64) {
	b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
	b.ReportMetric(0, "ns/op")
}

// inUse returns the bytes in use.
func inUse() int64 {
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkLinks simulates operations in model Links and reports events a second.
func BenchmarkLinks(b *testing.B) {
	l := sim.Link{Rate: 1e9, Delay: 5000}
	for _, c := range runs[:5] {
		b.Run(c.name, func(b *testing.B) {
			s, err := sim.New(spec(b, c.algorithm, c.p), sim.Config{Model: sim.Links{O: 1500, Up: l, Down: l}, Bytes: 1})
			require.NoError(b, err)
			events := int64(0)
			for b.Loop() {
				events += run(b, s)
			}
			report(b, events)
		})
	}
}
