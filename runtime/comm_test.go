package runtime_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

func group(t testing.TB, size int, o mem.Options, cfg runtime.Config) []*runtime.Comm {
	ts, err := mem.New(size, o)
	require.NoError(t, err)
	comms := make([]*runtime.Comm, size)
	for r := range comms {
		c := cfg
		c.Transport = ts[r]
		comms[r], err = runtime.Join(context.Background(), c)
		require.NoError(t, err)
	}
	return comms
}

func each(comms []*runtime.Comm, f func(c *runtime.Comm) error) error {
	errs := make(chan error, len(comms))
	for _, c := range comms {
		go func() { errs <- f(c) }()
	}
	var first error
	for range comms {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

func TestSmoke(t *testing.T) {
	for _, alg := range []string{"", "bcast/linear", "bcast/binomial", "bcast/chain", "bcast/mcast-chain", "bcast/mcast-acktree", "bcast/symmetric"} {
		for _, loss := range []float64{0, 0.3, 1} {
			for size := 1; size <= 9; size++ {
				t.Run(fmt.Sprintf("%s/%d/%v", alg, size, loss), func(t *testing.T) {
					comms := group(t, size, mem.Options{Seed: 1, Loss: loss, Reorder: 0.2, Duplicate: 0.2, Delay: 100 * time.Microsecond}, runtime.Config{
						Bcast: runtime.Algorithm{Name: alg}, Chunk: 1000, Repair: time.Millisecond,
					})
					ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
					defer cancel()
					err := each(comms, func(c *runtime.Comm) error {
						buf := make([]byte, 10000)
						for i := range 20 {
							root := i % size
							n := []int{0, 1, 999, 5000, 10000}[i%5]
							rnd := rand.NewChaCha8([32]byte{byte(i)})
							want := make([]byte, n)
							_, _ = rnd.Read(want)
							if c.Rank() == root {
								copy(buf, want)
							} else {
								clear(buf)
							}
							if err := c.Bcast(ctx, buf[:n], root); err != nil {
								return err
							}
							if !bytes.Equal(buf[:n], want) {
								return fmt.Errorf("rank %d op %d: wrong bytes", c.Rank(), i)
							}
						}
						return c.Barrier(ctx)
					})
					require.NoError(t, err)
					for _, c := range comms {
						require.NoError(t, c.Close())
					}
				})
			}
		}
	}
}

func TestCastSmoke(t *testing.T) {
	for size := 1; size <= 9; size++ {
		comms := group(t, size, mem.Options{Seed: 1, Delay: 50 * time.Microsecond}, runtime.Config{CastWindow: 4})
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		const n = 200
		err := each(comms, func(c *runtime.Comm) error {
			var wg sync.WaitGroup
			wg.Go(func() {
				for i := range n {
					if err := c.Publish(ctx, fmt.Appendf(nil, "%d/%d", c.Rank(), i)); err != nil {
						panic(err)
					}
				}
			})
			next := make([]int, size)
			for range n * (size - 1) {
				m, err := c.Next(ctx)
				if err != nil {
					return err
				}
				if want := fmt.Sprintf("%d/%d", m.Origin, next[m.Origin]); want != string(m.Data) {
					return fmt.Errorf("got %s want %s", m.Data, want)
				}
				next[m.Origin]++
			}
			wg.Wait()
			return c.Barrier(ctx)
		})
		require.NoError(t, err)
		for _, c := range comms {
			require.NoError(t, c.Close())
		}
	}
}
