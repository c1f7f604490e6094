package store_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

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

// BenchmarkIntoRing times one core that fills a ring and another one that empties it, in turn.
func BenchmarkIntoRing(b *testing.B) {
	for _, n := range []int{1 << 10, 2 << 10, 16 << 10, 128 << 10} {
		for name, by := range map[string]func(dst, src []byte) int{"store": store.Copy, "copy": func(dst, src []byte) int { return copy(dst, src) }} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				src, ring, dst := make([]byte, n), make([]byte, n), make([]byte, n)
				full, empty := make(chan bool, 1), make(chan bool, 1)
				go func() {
					for range full {
						copy(dst, ring)
						empty <- true
					}
					close(empty)
				}()
				b.SetBytes(int64(n))
				for b.Loop() {
					by(ring, src)
					full <- true
					<-empty
				}
				close(full)
			})
		}
	}
}
