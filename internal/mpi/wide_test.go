package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

// Both engines perform an alltoallw as an alltoallv, and engine go also an ialltoallw. The report lists what is always left to the MPI.
func TestAlltoallw(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		program := w.compile(t, "mpicc", "wide.c", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow")
		run := func(want ...string) {
			for _, ranks := range heavy.Or([]int{3}, []int{2, 3, 5, 8}) {
				out, err := w.run(t, ranks, nil, program)
				require.NoError(t, err, out)
				for _, line := range append(want, "neighbor-allgather: 3 by MPI, of a kind", "ineighbor-alltoall: 1 by MPI, of a kind", "allreduce: 1 by MPI, between two groups") {
					require.Contains(t, out, "schedgen: "+line)
				}
			}
		}
		run("alltoallv: 41 by alltoall/linear among ", "ialltoallw: 40 by MPI, that only engine go begins")
		w.withGo(t)
		run("alltoallv: 41 by engine go, ", "ialltoallv: 40 by engine go, ")
	})
}

// Engine go folds right where the MPIs do not.
func TestFoldsThatMPIsGetWrong(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		w.withGo(t)
		out, err := w.run(t, 2, nil, w.compile(t, "mpicc", "faults.c", "-O1", "-Wall", "-Wextra", "-Werror", "-fwrapv"))
		require.NoError(t, err, out)
		require.Contains(t, out, "all folds are done\n")
		require.NotContains(t, out, "wrong: ")
	})
}
