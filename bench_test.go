package schedgen_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/shm"
)

// BenchmarkOneRank measures what the typed functions cost in addition to package runtime. A single
// rank waits for nobody.
func BenchmarkOneRank(b *testing.B) {
	comms := group(b, 1, schedgen.Config{})
	c, ctx := comms[0], b.Context()
	dst, src := make([]float64, 8), make([]float64, 8)
	raw, whole := make([]byte, 64), make([]byte, 64)
	prepared, err := schedgen.PrepareAllreduce(ctx, c, src[:1], schedgen.Sum)
	require.NoError(b, err)
	for _, one := range []struct {
		name string
		call func() error
	}{
		{"Bcast", func() error { return schedgen.Bcast(ctx, c, src, 0) }},
		{"runtime.Bcast", func() error { return c.Runtime().Bcast(ctx, raw, 0) }},
		{"Allgather", func() error { return schedgen.Allgather(ctx, c, dst, src) }},
		{"runtime.Allgather", func() error { return c.Runtime().Collective(ctx, "allgather", whole, raw, 0) }},
		{"Barrier", func() error { return schedgen.Barrier(ctx, c) }},
		{"Allreduce", func() error { return schedgen.Allreduce(ctx, c, src[:1], schedgen.Sum) }},
		{"Prepared.Do", func() error { return prepared.Do(ctx) }},
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

// BenchmarkPrepared measures starts of a prepared allreduce of 8 bytes beside calls.
func BenchmarkPrepared(b *testing.B) {
	joins := map[string]func(size int) []*schedgen.Comm{
		"mem": func(size int) []*schedgen.Comm {
			return groupOf(b, size, mem.Options{Queue: 4096, Windows: true}, schedgen.Config{})
		},
		"shm": func(size int) []*schedgen.Comm { return sharing(b, size) },
	}
	for _, transport := range []string{"mem", "shm"} {
		for _, size := range []int{2, 8} {
			comms := joins[transport](size)
			for _, way := range []string{"call", "Do", "Start"} {
				b.Run(fmt.Sprintf("%s/ranks=%d/%s", transport, size, way), func(b *testing.B) {
					b.ReportAllocs()
					rounds := b.N
					require.NoError(b, each(comms, func(c *schedgen.Comm) error { return reduceRounds(b, c, way, rounds) }))
				})
			}
			closeAll(b, comms)
		}
	}
}

// reduceRounds folds a number of every rank, time after time. It prepares in any case.
func reduceRounds(b *testing.B, c *schedgen.Comm, way string, rounds int) error {
	ctx, buf := b.Context(), make([]float64, 1)
	p, err := schedgen.PrepareAllreduce(ctx, c, buf, schedgen.Sum)
	for i := 0; err == nil && i < rounds; i++ {
		switch way {
		case "call":
			err = schedgen.Allreduce(ctx, c, buf, schedgen.Sum)
		case "Do":
			err = p.Do(ctx)
		default:
			if err = p.Start(ctx); err == nil {
				err = p.Wait(ctx)
			}
		}
	}
	return err
}

// sharing joins ranks in this process over shared memory.
func sharing(b *testing.B, size int) []*schedgen.Comm {
	comms, errs := make([]*schedgen.Comm, size), make([]error, size)
	done := make(chan int, size)
	for rank := range comms {
		go func() {
			defer func() { done <- rank }()
			tr, err := shm.Join(b.Context(), shm.Config{Rank: rank, Size: size, Name: fmt.Sprintf("prepared-%d-%d", os.Getpid(), size)})
			if err == nil {
				comms[rank], err = schedgen.Join(b.Context(), schedgen.Config{Transport: tr})
			}
			errs[rank] = err
		}()
	}
	for range comms {
		<-done
	}
	require.NoError(b, errors.Join(errs...))
	return comms
}
