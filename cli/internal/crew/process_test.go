package crew

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEnvironmentOfRanks checks that ranks which share cores get GOMAXPROCS=1, unless the user has
// set it.
func TestEnvironmentOfRanks(t *testing.T) {
	for _, c := range []struct {
		own          []string
		ranks, cores int
		want         []string
	}{
		{[]string{"A=b"}, 3, 2, []string{"A=b", onePlace}},
		{[]string{"A=b"}, 2, 2, []string{"A=b"}},
		{[]string{"GOMAXPROCS=4"}, 3, 2, []string{"GOMAXPROCS=4"}},
		{nil, 3, 2, []string{onePlace}},
	} {
		require.Equal(t, c.want, environment(c.own, c.ranks, c.cores))
	}
}
