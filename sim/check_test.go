package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// TestCheck checks that a check takes the CPU once for the sends of a rule, behind the last send,
// and that messages which come meanwhile wait. Among five ranks, four flags are written, checked
// and read.
func TestCheck(t *testing.T) {
	spec, err := schedule.New("barrier/dissemination", schedule.Params{Ranks: 5, Degree: 5})
	require.NoError(t, err)
	r, err := sim.Run(spec, sim.Config{Model: sim.LogGP{O: 10, Check: 1000}})
	require.NoError(t, err)
	require.EqualValues(t, 4*10+1000+4*10, r.Makespan)
	for _, at := range r.Returns {
		require.Equal(t, r.Makespan, at)
	}
	_, err = sim.Run(spec, sim.Config{Model: sim.LogGP{Check: -1}})
	require.ErrorContains(t, err, "a parameter is negative")
}
