package heavy

import (
	"slices"
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
	for value, want := range map[string][]Stage{"": nil, "mpi": {MPI}, "namespaces,mpi": {MPI, Namespaces}, "MPI": nil, "ssh,namespaces": {Namespaces, SSH}} {
		t.Setenv("SCHEDGEN_HEAVY", "")
		t.Setenv("SCHEDGEN_STAGES", value)
		for _, s := range []Stage{MPI, Namespaces, SSH} {
			require.Equal(t, slices.Contains(want, s), s.Runs(), "%q of %q", s, value)
		}
		t.Setenv("SCHEDGEN_HEAVY", "1")
		require.True(t, MPI.Runs() && Namespaces.Runs() && SSH.Runs(), "%q", value)
	}
}
