package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReplacedVariables(t *testing.T) {
	env := []string{"A=1", "B=2", "A=3", "AB=4"}
	require.Equal(t, []string{"B=2", "AB=4", "A=5", "C=6"}, replaced(env, "A=5", "C=6"))
	require.Equal(t, []string{"A=1", "B=2", "A=3", "AB=4"}, env, "the argument is unchanged")
}

func TestStackedLibraries(t *testing.T) {
	for _, c := range []struct {
		old, want string
		others    []string
	}{
		{"", "/new/libschedgen.so", []string{}},
		{"./own.so", "/new/libschedgen.so:./own.so", []string{"./own.so"}},
		{"a.so b.so::c.so", "/new/libschedgen.so:a.so:b.so:c.so", []string{"a.so", "b.so", "c.so"}},
		{"a.so:/old/libschedgen.so", "/new/libschedgen.so:a.so", []string{"a.so"}},
	} {
		preload, others := stacked("/new/libschedgen.so", c.old)
		require.Equal(t, c.want, preload, c.old)
		require.Equal(t, c.others, others, c.old)
	}
}

func TestHostsOfCommands(t *testing.T) {
	for _, variable := range batchVariables {
		t.Setenv(variable, "")
	}
	require.False(t, namesHosts([]string{"mpirun", "-n", "2", "./program"}))
	require.True(t, namesHosts([]string{"mpirun", "-H", "a,b", "./program"}))
	t.Setenv("SLURM_JOB_ID", "7")
	require.True(t, namesHosts([]string{"mpirun", "./program"}))
}
