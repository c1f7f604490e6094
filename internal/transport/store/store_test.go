package store_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/transport/store"
)

// Copy copies what copy does, and nothing beside it, wherever both slices begin and end.
func TestCopy(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	from, into, want := make([]byte, 9000), make([]byte, 9000), make([]byte, 9000)
	for i := range from {
		from[i] = byte(random.Uint32())
	}
	for _, n := range []int{0, 1, 63, 64, 65, 1023, 1024, 1025, 4096, 8191} {
		for range 20 {
			src, at := from[random.IntN(100):], random.IntN(100)
			clear(into)
			clear(want)
			require.Equal(t, n, store.Copy(into[at:at+n], src))
			copy(want[at:at+n], src)
			require.True(t, bytes.Equal(want, into), "%d bytes at %d", n, at)
			require.Equal(t, n, store.Copy(into[at:], src[:n]))
			require.True(t, bytes.Equal(want, into), "%d bytes at %d", n, at)
		}
	}
}

// Fetch changes nothing, wherever in a line its byte lies.
func TestFetch(t *testing.T) {
	mem := make([]byte, 256)
	for i := range mem {
		mem[i] = byte(i)
	}
	for i := range mem {
		store.Fetch(unsafe.Pointer(&mem[i]))
		require.Equal(t, byte(i), mem[i])
	}
}
