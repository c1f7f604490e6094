package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/local"
)

// TestMetadata checks that at the end all servers know the newest versions of the same objects, and
// the number of open objects.
func TestMetadata(t *testing.T) {
	const objects = 25
	for _, size := range []int{1, 2, 7} {
		servers, opens := make([]*server, size), make([][]int64, size)
		require.NoError(t, local.Run(t.Context(), size, func(ctx context.Context, comm *schedgen.Comm) (err error) {
			servers[comm.Rank()], opens[comm.Rank()], err = serve(ctx, comm, objects)
			return err
		}))
		open, bytes := int64(0), int64(0)
		for _, s := range servers {
			require.Equal(t, servers[0].objects, s.objects)
			open += int64(len(s.open))
			for name := range s.open {
				bytes += s.objects[name].Bytes
			}
		}
		require.Len(t, servers[0].objects, size*objects)
		for _, o := range servers[0].objects {
			require.Equal(t, 2, o.Version)
		}
		for rank, got := range opens {
			require.Equal(t, []int64{open, bytes}, got, "server %d", rank)
		}
	}
}

func TestByHand(t *testing.T) { require.NoError(t, run(t.Context(), 5)) }
