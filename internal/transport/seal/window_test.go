package seal

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWindow(t *testing.T) {
	var w Window
	for _, c := range []struct {
		n    uint64
		want bool
	}{
		{0, false}, {1, true}, {1, false}, {3, true}, {2, true}, {2, false}, {64, true}, {63, true}, {64, false},
		{windowSize + 64, true}, {64, false}, {65, true}, {65, false}, {63, false}, {1 << 40, true}, {1<<40 - windowSize + 1, true},
		{1<<40 - windowSize, false}, {windowSize + 64, false}, {1<<64 - 1, true}, {1<<64 - 1, false}, {1 << 40, false}, {1<<64 - windowSize, true},
	} {
		require.Equal(t, c.want, w.Take(c.n), "%d", c.n)
	}
}

// TestWindowTakesOnce compares a window with a set: a count that is not too old is taken exactly
// once.
func TestWindowTakesOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w Window
		seen, highest := map[uint64]bool{}, uint64(0)
		for range rapid.IntRange(1, 300).Draw(t, "datagrams") {
			back := rapid.Uint64Range(0, 2*windowSize).Draw(t, "back")
			n := highest + rapid.Uint64Range(1, 3*windowSize).Draw(t, "ahead")
			if rapid.Bool().Draw(t, "late") && back < highest {
				n = highest - back
			}
			old := n <= highest && highest-n >= windowSize
			if got := w.Take(n); got != (!seen[n] && !old) {
				t.Fatalf("%d behind %d, seen %v: taken %v", n, highest, seen[n], got)
			}
			highest, seen[n] = max(highest, n), true
		}
	})
}
