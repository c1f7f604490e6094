package hybrid_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/hybrid"
	"github.com/schedgen/schedgen/schedule/selection"
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

// With Config.Reproducible, every collective that folds works for every layout of ranks on hosts, and
// gives the same bits for all of them. The fold is not associative, so its bits show the tree.
func TestReproducibleOnEveryLayout(t *testing.T) {
	tree := &runtime.Fold{Name: "tree", Element: 8, Kernel: func(dst, a, b []byte) {
		for i := 0; i < len(dst); i += 8 {
			x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
			binary.LittleEndian.PutUint64(dst[i:], bits.RotateLeft64(x*0x9E3779B97F4A7C15, 23)*3^y+7)
		}
	}}
	results := map[string][]byte{}
	for _, hosts := range []string{"aaaaa", "abcde", "aabbb", "aaabb", "ababa", "aabbc"} {
		trs := joinAll(t, len(hosts), func(rank int, c *hybrid.Config) { c.Host = t.Name() + hosts[rank:rank+1] })
		got := make([]map[string][]byte, len(trs))
		errs := make([]error, len(trs))
		var all sync.WaitGroup
		for rank, tr := range trs {
			all.Go(func() { got[rank], errs[rank] = foldAll(t.Context(), tr, tree) })
		}
		all.Wait()
		closeAll(trs)
		require.NoError(t, errors.Join(errs...), hosts)
		for rank := range got {
			for call, result := range got[rank] {
				key := fmt.Sprintf("%s at rank %d", call, rank)
				if first, ok := results[key]; ok {
					require.Equal(t, first, result, "%s, hosts %s", key, hosts)
				}
				results[key] = result
			}
		}
	}
}

// foldAll folds short and long vectors by all collectives, and returns the results.
func foldAll(ctx context.Context, tr *hybrid.Transport, fold *runtime.Fold) (map[string][]byte, error) {
	c, err := runtime.Join(ctx, runtime.Config{Transport: tr, Reproducible: true})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	results := map[string][]byte{}
	for _, row := range ir.Collectives() {
		if row.Inputs == nil || selection.Tree(row.Name) == "" {
			continue
		}
		for _, n := range []int{8, 24_000, 400_000} {
			call := runtime.Call{Collective: row.Name, Fold: fold, Src: make([]byte, n*row.InputBlocks(c.Size()))}
			for i := range call.Src {
				call.Src[i] = byte(i/8*31 + 7*c.Rank())
			}
			call.Dst = make([]byte, n*row.Wanted(c.Size(), 0, c.Rank()).Count)
			if err := c.Do(ctx, call); err != nil {
				return nil, err
			}
			results[fmt.Sprintf("%s of %d bytes", row.Name, n)] = call.Dst
		}
	}
	return results, c.Barrier(ctx)
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
