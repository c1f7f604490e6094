package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Functions with large counts are the same operations, if their counts are small. Open MPI 4.1 has
// none.
func TestLargeCounts(t *testing.T) {
	w := newWorld(t, "mpich")
	program := w.compile(t, "mpicc", "large.c", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow")
	for _, join := range []string{"0", "32"} { // ranks count the same operations
		out, err := w.run(t, 3, []string{"SCHEDGEN_MPI_JOIN=" + join}, program)
		require.NoError(t, err, out)
		require.Contains(t, out, "schedgen: alltoall: 40 by alltoall/bruck among 3 ranks")
		require.Contains(t, out, "schedgen: allgatherv: 12 by allgather/doubling among 3 ranks")
		for _, left := range []string{"gatherv", "scatterv", "alltoallv", "alltoallw", "ialltoallv"} {
			require.Contains(t, out, "schedgen: "+left+": 1 by MPI, of a kind or with arguments that are always left to MPI, ")
		}
	}
	w.withGo(t)
	out, err := w.run(t, 3, nil, program)
	require.NoError(t, err, out)
	for _, want := range []string{"bcast: 40", "allreduce: 40", "reduce: 40", "gather: 40", "scatter: 40", "ibcast: 40", "iallreduce: 40", "igather: 40", "allgatherv: 12", "reduce-scatter: 50"} {
		require.Contains(t, out, "schedgen: "+want+" by engine go, ")
	}
}
