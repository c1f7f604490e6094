package schedgen_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
)

// BenchmarkOneRank measures what the typed functions cost in addition to package runtime. A single
// rank waits for nobody.
func BenchmarkOneRank(b *testing.B) {
	comms := group(b, 1, schedgen.Config{})
	c, ctx := comms[0], b.Context()
	dst, src := make([]float64, 8), make([]float64, 8)
	raw, whole := make([]byte, 64), make([]byte, 64)
	for _, one := range []struct {
		name string
		call func() error
	}{
		{"Bcast", func() error { return schedgen.Bcast(ctx, c, src, 0) }},
		{"runtime.Bcast", func() error { return c.Runtime().Bcast(ctx, raw, 0) }},
		{"Allgather", func() error { return schedgen.Allgather(ctx, c, dst, src) }},
		{"runtime.Allgather", func() error { return c.Runtime().Collective(ctx, "allgather", whole, raw, 0) }},
		{"Barrier", func() error { return schedgen.Barrier(ctx, c) }},
	} {
		b.Run(one.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := one.call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	closeAll(b, comms)
}

func BenchmarkAllgather(b *testing.B) {
	const size = 4
	for _, n := range []int{1, 1 << 10} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			comms := group(b, size, schedgen.Config{})
			rounds := b.N
			require.NoError(b, each(comms, func(c *schedgen.Comm) error {
				dst, src := make([]float64, size*n), make([]float64, n)
				for range rounds {
					if err := schedgen.Allgather(b.Context(), c, dst, src); err != nil {
						return err
					}
				}
				return nil
			}))
			closeAll(b, comms)
		})
	}
}
