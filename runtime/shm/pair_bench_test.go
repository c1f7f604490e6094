//go:build linux

package shm_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
)

// BenchmarkCalls is what a broadcast costs its two ranks, one after the other, neither of which
// has to wait.
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

// BenchmarkBarrier is a barrier of two ranks, each in a goroutine.
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
