package main

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/local"
)

func TestAllRanksFindTheLine(t *testing.T) {
	want := line{Slope: 3, Shift: -1}
	for _, size := range []int{1, 2, 5} {
		var mu sync.Mutex
		var found []line
		require.NoError(t, local.Run(t.Context(), size, func(ctx context.Context, comm *schedgen.Comm) error {
			l, err := fit(ctx, comm, measure(comm.Rank(), want), 500)
			mu.Lock()
			defer mu.Unlock()
			found = append(found, l)
			return err
		}))
		for _, l := range found {
			require.Equal(t, found[0], l)
			require.InDelta(t, want.Slope, l.Slope, 0.02)
			require.InDelta(t, want.Shift, l.Shift, 0.02)
		}
	}
}

func TestByHand(t *testing.T) { require.NoError(t, run(t.Context(), 10)) }
