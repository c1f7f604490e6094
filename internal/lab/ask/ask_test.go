package ask

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/verify"
)

// TestCoordinator checks that the coordinator's schedule passes the verifier.
func TestCoordinator(t *testing.T) {
	for ranks := 3; ranks <= 9; ranks++ {
		s, err := coordinated(ranks)
		require.NoError(t, err)
		r, err := verify.Run(s)
		require.NoError(t, err)
		require.NoError(t, r.Err(), "%d ranks", ranks)
	}
}

// TestTables checks that all tables have a row for each number of ranks.
func TestTables(t *testing.T) {
	var b strings.Builder
	require.NoError(t, run(t.Context(), &b, []int{4, 5}, 2))
	require.Equal(t, 3, strings.Count(b.String(), "\n| 4 |"))
	require.Equal(t, 3, strings.Count(b.String(), "\n| 5 |"))
}
