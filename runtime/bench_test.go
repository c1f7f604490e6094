package runtime_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// collectives runs op b.N times at every rank of a warm communicator.
func collectives(b *testing.B, size int, cfg runtime.Config, op func(c *runtime.Comm, buf []byte) error, n int) {
	collectivesOn(b, mem.Options{Queue: 4096}, size, cfg, op, n)
}

func collectivesOn(b *testing.B, net mem.Options, size int, cfg runtime.Config, op func(c *runtime.Comm, buf []byte) error, n int) {
	comms := group(b, size, net, cfg)
	run := func(times int) {
		err := each(comms, func(c *runtime.Comm) error {
			buf := make([]byte, n)
			for range times {
				if err := op(c, buf); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	run(200)
	b.ReportAllocs()
	b.ResetTimer()
	run(b.N)
	b.StopTimer()
	for _, c := range comms {
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBarrier(b *testing.B) {
	for _, alg := range []string{"barrier/dissemination", "barrier/exchange", "barrier/hsb"} {
		for _, size := range []int{2, 8} {
			b.Run(fmt.Sprintf("%s/ranks=%d", alg, size), func(b *testing.B) {
				collectives(b, size, runtime.Config{Algorithms: runtime.Algorithms{"barrier": {Name: alg}}}, func(c *runtime.Comm, _ []byte) error {
					return c.Barrier(context.Background())
				}, 0)
			})
		}
	}
}

func BenchmarkBcast(b *testing.B) {
	for _, alg := range []string{"bcast/binomial", "bcast/mcast-chain", "bcast/mcast-acktree"} {
		b.Run(fmt.Sprintf("%s/ranks=8", alg), func(b *testing.B) {
			collectives(b, 8, runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: alg}}}, func(c *runtime.Comm, buf []byte) error {
				return c.Bcast(context.Background(), buf, 0)
			}, 2048)
		})
	}
}

// BenchmarkPublish publishes a message at every rank and takes those of the others.
func BenchmarkPublish(b *testing.B) {
	for _, alg := range []string{"anycast/skip-ring", "anycast/circulant", "anycast/mcast-acktree"} {
		b.Run(fmt.Sprintf("%s/ranks=4", alg), func(b *testing.B) {
			const ranks = 4
			collectives(b, ranks, runtime.Config{Algorithms: runtime.Algorithms{"anycast": {Name: alg}}}, func(c *runtime.Comm, buf []byte) error {
				if err := c.Publish(context.Background(), buf); err != nil {
					return err
				}
				for range ranks - 1 {
					if _, err := c.Next(context.Background()); err != nil {
						return err
					}
				}
				return nil
			}, 64)
		})
	}
}

// BenchmarkDup makes a communicator and closes it.
func BenchmarkDup(b *testing.B) {
	for _, size := range []int{2, 8, 32} {
		b.Run(fmt.Sprintf("ranks=%d", size), func(b *testing.B) {
			collectives(b, size, runtime.Config{}, func(c *runtime.Comm, _ []byte) error {
				twin, err := c.Dup(context.Background())
				if err != nil {
					return err
				}
				return twin.Close()
			}, 0)
		})
	}
}
