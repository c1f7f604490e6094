package main

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/runtime/mem"
)

// TestMetadata checks that at the end all servers know the newest versions of the same objects, and
// the number of open objects.
func TestMetadata(t *testing.T) {
	const objects = 25
	for _, size := range []int{1, 2, 7} {
		transports, err := mem.New(size, mem.Options{})
		require.NoError(t, err)
		servers, opens, errs := make([]*server, size), make([][]int64, size), make([]error, size)
		var wg sync.WaitGroup
		for rank, tr := range transports {
			wg.Go(func() {
				comm, err := schedgen.Join(t.Context(), schedgen.Config{Transport: tr})
				if err == nil {
					servers[rank], opens[rank], err = serve(t.Context(), comm, objects)
					err = errors.Join(err, comm.Close())
				}
				errs[rank] = err
			})
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
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
