package runtime_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// A rank that closes repeats its last signals for a second if nobody confirms them, or until their
// receivers have gone. A receiver's wait may then end by time alone.
func TestCloseEndsWhenReceiversHaveGone(t *testing.T) {
	for seed := range heavy.Seeds(40) {
		synctest.Test(t, func(t *testing.T) {
			const linger = time.Minute
			cfg := runtime.Config{Algorithms: ackTree.Algorithms, Waiting: runtime.Waiting{Linger: linger}}
			comms := group(t, 6, mem.Options{Loss: 0.9, Delay: 200 * time.Microsecond, Seed: seed}, cfg)
			var all sync.WaitGroup
			for _, c := range comms {
				all.Go(func() {
					for _, err := range c.Messages(context.Background()) {
						if err != nil {
							return
						}
					}
				})
				all.Go(func() {
					for range 4 {
						if err := c.Bcast(context.Background(), make([]byte, 40<<10), 0); err != nil {
							t.Error(err)
						}
						if err := c.Barrier(context.Background()); err != nil {
							t.Error(err)
						}
					}
					began := time.Now()
					if err := c.Close(); err != nil {
						t.Error(err)
					}
					if took := time.Since(began); took > 1100*time.Millisecond {
						t.Errorf("seed %d: rank %d has closed after %v", seed, c.Rank(), took)
					}
				})
			}
			all.Wait()
		})
		if t.Failed() {
			break
		}
	}
	require.False(t, t.Failed())
}
