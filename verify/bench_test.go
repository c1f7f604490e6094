package verify_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// BenchmarkVerify4096 proves every algorithm at 4,096 ranks, or at 512 if its messages grow with
// the square, in at most 5 s and 2 GiB. BenchmarkVerify65536 proves the algorithms with O(P log P)
// messages at 65,536 ranks in at most 30 s and 8 GiB. Run with
//
//	go test -run '^$' -bench . -benchtime 1x ./verify

func BenchmarkVerify4096(b *testing.B) {
	for _, alg := range schedule.Algorithms() {
		ranks := 4096
		spec, err := schedule.New(alg.Name, schedule.Params{Ranks: ranks})
		require.NoError(b, err)
		if rules, actions := spec.Size(); max(rules, actions) > 1<<22 {
			ranks = 512
		}
		b.Run(alg.Name, func(b *testing.B) {
			benchmarkVerify(b, alg.Name, schedule.Params{Ranks: ranks}, 5*time.Second, 2<<30)
		})
	}
}

func BenchmarkVerify65536(b *testing.B) {
	for _, name := range []string{"barrier/dissemination", "barrier/hsb", "bcast/mcast-chain", "bcast/mcast-acktree", "allreduce/doubling"} {
		b.Run(name, func(b *testing.B) {
			benchmarkVerify(b, name, schedule.Params{Ranks: 65536}, 30*time.Second, 8<<30)
		})
	}
	b.Run("barrier/dissemination/degree=2", func(b *testing.B) {
		benchmarkVerify(b, "barrier/dissemination", schedule.Params{Ranks: 65536, Degree: 2}, 30*time.Second, 8<<30)
	})
	b.Run("bcast/mcast-acktree/root=40000", func(b *testing.B) {
		benchmarkVerify(b, "bcast/mcast-acktree", schedule.Params{Ranks: 65536, Root: 40000}, 30*time.Second, 8<<30)
	})
}

// benchmarkVerify generates a schedule and proves it.
func benchmarkVerify(b *testing.B, name string, p schedule.Params, limit time.Duration, memory uint64) {
	prove(b, generate(b, name, p), limit, memory)
}

// prove reports the largest heap seen, including the schedule, and fails if a run takes more time
// or memory than allowed.
func prove(b *testing.B, s *ir.Schedule, limit time.Duration, memory uint64) {
	stop, peak := watchHeap()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		report, err := verify.Run(s)
		require.NoError(b, err)
		require.NoError(b, report.Err())
	}
	b.StopTimer()
	close(stop)
	most := <-peak
	b.ReportMetric(float64(most)/(1<<20), "peak-MiB")
	require.LessOrEqual(b, b.Elapsed()/time.Duration(b.N), limit)
	require.LessOrEqual(b, most, memory)
}

// watchHeap samples the memory that the process has from the system until stop is closed. It then
// sends the largest sample.
func watchHeap() (stop chan struct{}, peak chan uint64) {
	stop, peak = make(chan struct{}), make(chan uint64, 1)
	tick := time.NewTicker(20 * time.Millisecond)
	go func() {
		defer tick.Stop()
		var most uint64
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-tick.C:
			case <-stop:
				peak <- most
				return
			}
		}
	}()
	return stop, peak
}
