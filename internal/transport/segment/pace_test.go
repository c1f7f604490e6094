//go:build linux

package segment

import (
	"errors"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// joinedWith returns two ranks on a segment whose creator has measured p.
func joinedWith(t *testing.T, p wire.Pace) (ranks [2]*Transport, err error) {
	t.Helper()
	f, err := Create(2)
	require.NoError(t, err)
	h, err := readHeader(f)
	require.NoError(t, err)
	h.pace = p
	_, err = f.WriteAt((*[unsafe.Sizeof(h)]byte)(unsafe.Pointer(&h))[:], 0)
	require.NoError(t, err)
	var joining sync.WaitGroup
	var errs [2]error
	for rank := range ranks {
		joining.Go(func() {
			ranks[rank], errs[rank] = Join(t.Context(), Config{Options: Options{Rank: rank, Size: 2, File: f}})
		})
	}
	joining.Wait()
	require.NoError(t, f.Close())
	return ranks, errors.Join(errs[:]...)
}

// All ranks use the costs of the rank that made the segment, whatever they would measure.
func TestPaceIsAgreed(t *testing.T) {
	for _, p := range []wire.Pace{wire.TypicalPace(), {Ring: 3, Pull: wire.MaxPace, Call: 5, Line: 6, Fold: 8, Yield: 7, Cores: 11}} {
		ranks, err := joinedWith(t, p)
		require.NoError(t, err)
		for _, tr := range ranks {
			require.Equal(t, &p, tr.Caps().Pace)
			require.NoError(t, tr.Close(true, 0))
		}
	}
	_, err := joinedWith(t, wire.Pace{Ring: 3})
	require.ErrorContains(t, err, "wrong costs")
}

// A rank lends a chunk only where the system copies it faster than two ranks do by a ring.
func TestLendsByPace(t *testing.T) {
	for pull, want := range map[uint32]bool{32: true, 34: false, wire.MaxPace: false} {
		ranks, err := joinedWith(t, wire.Pace{Ring: 40, Pull: pull, Call: 1, Line: 1, Fold: 1, Yield: 1, Cores: 2})
		require.NoError(t, err)
		body := make([]byte, 100<<10)
		lent, ok := ranks[0].First().Lay(wire.ChunkLine, []int{1}, wire.Flag{Seq: 1}, body, len(body))
		require.Equal(t, want, ok, "%d ps a byte", pull)
		require.Equal(t, want, lent)
		if lent {
			require.True(t, ranks[1].First().Collect(0, wire.ChunkLine, wire.Flag{Seq: 1}, make([]byte, len(body))))
		}
		for _, tr := range ranks {
			require.NoError(t, tr.Close(true, 0))
		}
	}
}
