package heavy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTests(t *testing.T) {
	for value, heavy := range map[string]bool{"": false, "0": false, "no": false, "1": true} {
		t.Setenv("SCHEDGEN_HEAVY", value)
		require.Equal(t, heavy, Tests(), "%q", value)
		require.Equal(t, map[bool]int{false: 3, true: 300}[heavy], Or(3, 300), "%q", value)
	}
}

func TestStages(t *testing.T) {
	for value, want := range map[string][2]bool{"": {}, "mpi": {true, false}, "namespaces,mpi": {true, true}, "MPI": {}, "namespaces": {false, true}} {
		t.Setenv("SCHEDGEN_HEAVY", "")
		t.Setenv("SCHEDGEN_STAGES", value)
		require.Equal(t, want, [2]bool{MPI.Runs(), Namespaces.Runs()}, "%q", value)
		t.Setenv("SCHEDGEN_HEAVY", "1")
		require.True(t, MPI.Runs() && Namespaces.Runs(), "%q", value)
	}
}
