package hybrid_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/hybrid"
)

// A communicator and its Dup have the same ranks on the same hosts, so they choose the same
// algorithms, wherever the hosts are.
func TestWorldAndItsDupChooseAlike(t *testing.T) {
	for _, hosts := range []string{"aaa", "abc", "aab", "aabb", "abab", "aaabbb"} {
		t.Run(hosts, func(t *testing.T) {
			trs := joinAll(t, len(hosts), func(rank int, c *hybrid.Config) { c.Host = t.Name() + hosts[rank:rank+1] })
			defer closeAll(trs)
			var mu sync.Mutex
			chosen := map[uint8][]string{} // by communicator, at rank 0
			trace := func(e runtime.Event) {
				if e.Kind == runtime.EventBegan && e.Rank == 0 {
					mu.Lock()
					defer mu.Unlock()
					chosen[e.Comm] = append(chosen[e.Comm], e.Op)
				}
			}
			errs := make([]error, len(trs))
			var all sync.WaitGroup
			for rank, tr := range trs {
				all.Go(func() { errs[rank] = inTwo(t.Context(), tr, trace) })
			}
			all.Wait()
			require.NoError(t, errors.Join(errs...))
			world, dup := chosen[0], chosen[1]
			require.Len(t, dup, 9)
			require.Equal(t, dup, world[len(world)-len(dup):]) // making the Dup took operations, too
		})
	}
}

// inTwo runs operations of several lengths in a communicator and then in its Dup.
func inTwo(ctx context.Context, tr *hybrid.Transport, trace func(runtime.Event)) error {
	world, err := runtime.Join(ctx, runtime.Config{Transport: tr, Observe: runtime.Observe{Trace: trace}})
	if err != nil {
		return err
	}
	defer world.Close()
	dup, err := world.Dup(ctx)
	if err != nil {
		return err
	}
	defer dup.Close()
	for _, c := range []*runtime.Comm{world, dup} {
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		for _, n := range []int{1, 2 << 10, 64 << 10, 1 << 20} {
			if err := c.Bcast(ctx, make([]byte, n), 0); err != nil {
				return fmt.Errorf("%d bytes: %w", n, err)
			}
			if err := c.Collective(ctx, "allgather", make([]byte, c.Size()*n), make([]byte, n), 0); err != nil {
				return fmt.Errorf("blocks of %d bytes: %w", n, err)
			}
		}
	}
	return nil
}
