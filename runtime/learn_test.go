package runtime

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The rivals of a trial have turns in one order and then in the other, so that no rival always
// follows the same one. The first call of a turn does not count.
func TestTurnsGoToAndFro(t *testing.T) {
	l := &lesson{rivals: make([]rival, 3)}
	l.tryAll()
	var order []int
	for !l.due() {
		of, counts := l.next()
		require.False(t, counts, "the first call of a turn")
		for range turnCalls - 1 {
			again, counts := l.next()
			require.Equal(t, of, again)
			require.True(t, counts)
		}
		order = append(order, of)
	}
	require.Len(t, order, 3*fewTurns)
	require.Equal(t, []int{0, 1, 2, 2, 1, 0}, order[:6])
}
