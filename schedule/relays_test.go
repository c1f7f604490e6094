package schedule

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRelays checks that Relays agrees with the programs, also if every rank is its own host, or if
// all share one.
func TestRelays(t *testing.T) {
	for _, alg := range Algorithms() {
		relays := false // for some number of ranks
		for ranks := 1; ranks <= 17; ranks++ {
			for _, p := range grid(&alg, ranks) {
				s, err := New(alg.Name, p)
				require.NoError(t, err)
				h := s.Header()
				does := h.Relays(s.Program)
				require.Equal(t, does, s.Relays(), "%s %+v", alg.Name, p)
				relays = relays || does && p.Hosts == 0
			}
		}
		require.Equal(t, alg.relays, relays, alg.Name)
	}
}
