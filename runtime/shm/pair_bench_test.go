//go:build linux

package shm_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/fold"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
)

// BenchmarkCalls times a broadcast at its two ranks, one after the other, so that neither waits.
func BenchmarkCalls(b *testing.B) {
	for _, n := range []int{2, 1000, 2 << 10} {
		b.Run(fmt.Sprintf("bytes=%d", n), func(b *testing.B) {
			var comms []*runtime.Comm
			for _, tr := range connect(b, 2) {
				c, err := runtime.Join(b.Context(), runtime.Config{Transport: tr, Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/linear"}}})
				require.NoError(b, err)
				comms = append(comms, c)
			}
			buf := [2][]byte{make([]byte, n), make([]byte, n)}
			b.ReportAllocs()
			for b.Loop() {
				for rank, c := range comms {
					if err := c.Bcast(b.Context(), buf[rank], 0); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.StopTimer()
			for _, c := range comms {
				require.NoError(b, c.Close())
			}
		})
	}
}

var doubles = func() *runtime.Fold {
	k, size, _ := fold.For[float64](fold.Sum)
	return &runtime.Fold{Name: "sum", Element: size, Commutes: true, Kernel: runtime.Kernel(k)}
}()

// BenchmarkBlocks times a collective with blocks of 8 bytes among two ranks, each in a goroutine.
// The root changes, so that no rank gets ahead of the other.
func BenchmarkBlocks(b *testing.B) {
	for _, name := range []string{"bcast", "scatter", "gather", "allgather", "alltoall", "allreduce"} {
		row, _ := ir.CollectiveNamed(name)
		algorithm, held := name+"/linear", row.Held
		var sum *runtime.Fold
		if row.Inputs != nil {
			algorithm, held, sum = name+"/doubling", row.Wanted, doubles
		}
		b.Run(name, func(b *testing.B) {
			var comms []*runtime.Comm
			for _, tr := range connect(b, 2) {
				c, err := runtime.Join(b.Context(), runtime.Config{Transport: tr, Algorithms: runtime.Algorithms{name: {Name: algorithm}}})
				require.NoError(b, err)
				comms = append(comms, c)
			}
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for rank, c := range comms {
				wg.Go(func() {
					var dst, src [2][]byte
					for root := range dst {
						dst[root], src[root] = make([]byte, 8*row.Wanted(2, root, rank).Count), make([]byte, 8*held(2, root, rank).Count)
					}
					for i := range b.N {
						root := 0
						if row.Rooted {
							root = i % 2
						}
						if err := c.Do(b.Context(), runtime.Call{Collective: name, Dst: dst[root], Src: src[root], Root: root, Fold: sum}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			for _, c := range comms {
				require.NoError(b, c.Close())
			}
		})
	}
}

// BenchmarkBarrier times a barrier of two ranks, each in a goroutine.
func BenchmarkBarrier(b *testing.B) {
	var comms []*runtime.Comm
	for _, tr := range connect(b, 2) {
		c, err := runtime.Join(b.Context(), runtime.Config{Transport: tr})
		require.NoError(b, err)
		comms = append(comms, c)
	}
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for _, c := range comms {
		wg.Go(func() {
			for range b.N {
				if err := c.Barrier(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	for _, c := range comms {
		require.NoError(b, c.Close())
	}
}
