package selection_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/schedule/selection"
)

// A rule may leave operations to an MPI. Where there is none, or where bits are promised, the next
// rule decides.
func TestRulesForAnMPI(t *testing.T) {
	rules, err := selection.Parse([]byte(`{"format": "schedgen-rules/1", "rules": [
		{"collective": "allreduce", "bytes": {"max": 99}, "algorithm": "mpi", "reason": "short"},
		{"collective": "allreduce", "algorithm": "allreduce/doubling"},
		{"collective": "barrier", "algorithm": "mpi"}]}`))
	require.NoError(t, err)
	of := func(collective string, bytes int, mpi, reproducible bool) string {
		d, ok := rules.Of(selection.Case{Collective: collective, Ranks: 5, Bytes: bytes, MPI: mpi, Reproducible: reproducible})
		require.True(t, ok)
		return d.Rule.Algorithm
	}
	require.Equal(t, selection.MPI, of("allreduce", 99, true, false))
	require.Equal(t, "allreduce/doubling", of("allreduce", 100, true, false))
	require.Equal(t, "allreduce/doubling", of("allreduce", 99, false, false))
	require.Equal(t, "allreduce/doubling", of("allreduce", 99, true, true))
	require.Equal(t, selection.MPI, of("barrier", 0, true, false))
	require.Equal(t, "barrier/hsb", of("barrier", 0, false, false), "the built-in rules decide what is left")
	require.NotEqual(t, selection.MPI, of("bcast", 9, true, false))

	again, err := selection.Parse(rules.Text())
	require.NoError(t, err)
	require.Equal(t, rules.Text(), again.Text())
	for _, d := range rules.Contenders(selection.Case{Collective: "allreduce", Ranks: 5, Bytes: 99, MPI: false}, true, 9) {
		require.NotEqual(t, selection.MPI, d.Rule.Algorithm)
	}
	over, err := selection.Over([]selection.Rule{{Collective: "allreduce", Bytes: selection.Range{To: 50}, Algorithm: "allreduce/ring"}}, rules)
	require.NoError(t, err)
	d, _ := over.Of(selection.Case{Collective: "allreduce", Ranks: 5, Bytes: 40, MPI: true})
	require.Equal(t, "allreduce/ring", d.Rule.Algorithm)
	d, _ = over.Of(selection.Case{Collective: "allreduce", Ranks: 5, Bytes: 60, MPI: true})
	require.Equal(t, selection.MPI, d.Rule.Algorithm)

	_, err = selection.New([]selection.Rule{{Collective: "bcast", Algorithm: selection.MPI, Params: selection.Params{Chunks: 2}}})
	require.ErrorContains(t, err, "params: the MPI chooses them")
}
