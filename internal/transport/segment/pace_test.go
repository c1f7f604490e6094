//go:build linux

package segment

import (
	"errors"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// All ranks use the result of the rank that made the segment, whatever their own results would be.
func TestRingsAreAgreed(t *testing.T) {
	for _, rings := range []bool{RingsFaster(), !RingsFaster()} {
		f, err := Create(2)
		require.NoError(t, err)
		if rings != RingsFaster() {
			h, err := readHeader(f)
			require.NoError(t, err)
			h.rings ^= 1
			_, err = f.WriteAt((*[unsafe.Sizeof(h)]byte)(unsafe.Pointer(&h))[:], 0)
			require.NoError(t, err)
		}
		var joining sync.WaitGroup
		var ranks [2]*Transport
		var errs [2]error
		for rank := range ranks {
			joining.Go(func() {
				ranks[rank], errs[rank] = Join(t.Context(), Config{Options: Options{Rank: rank, Size: 2, File: f}})
			})
		}
		joining.Wait()
		require.NoError(t, errors.Join(errs[:]...))
		for _, tr := range ranks {
			require.Equal(t, rings, tr.Caps().Rings)
			require.NoError(t, tr.Close(true, 0))
		}
		require.NoError(t, f.Close())
	}
}

func TestFastest(t *testing.T) {
	calls := 0
	took, err := fastest(func() error { calls++; return nil })
	require.NoError(t, err)
	require.Equal(t, paceTries, calls)
	require.Positive(t, took)
	_, err = fastest(func() error { return errStranger })
	require.ErrorIs(t, err, errStranger)
	src, dst := []byte("as it was"), make([]byte, 9)
	require.NoError(t, copyBySystem(dst, src))
	require.Equal(t, src, dst)
}
