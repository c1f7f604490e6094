package mpi

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

// Persistent operations have the results of the blocking ones. Open MPI 4.1 has none, but a program
// that is linked with the library has those of engine go.
func TestPersistent(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		dir := header(t, w)
		w.withGo(t)
		program := w.linked(t, dir, "mpicc", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow", absolute(t, "testdata/persistent.c"))
		for _, ranks := range heavy.Or([]int{3}, []int{2, 3, 4, 5, 8}) {
			for _, transport := range heavy.Or([]string{"auto"}, []string{"auto", "tcp"}) {
				args := []string{program}
				if w.mpi == "mpich" {
					args = append(args, "left")
				}
				out, err := w.run(t, ranks, []string{"SCHEDGEN_TRANSPORT=" + transport}, args...)
				require.NoError(t, err, "%d ranks, %s: %s", ranks, transport, out)
				for op := range AlltoallV + 1 {
					require.Regexp(t, fmt.Sprintf(`schedgen: persistent %s: \d+ by engine go, `, operationNames[op]), out)
				}
				if w.mpi == "mpich" {
					require.Contains(t, out, "persistent bcast: 1 by MPI, with blocks that would have to be packed or copied")
				}
			}
		}
		out, err := w.run(t, 3, nil, program, "differ")
		require.NoError(t, err, out)
		require.Contains(t, out, "schedgen: ")
	})
}

// The same holds for programs in Fortran. The modules of Open MPI 4.1 do not know such functions, so
// they are external there.
func TestPersistentFortran(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		dir := header(t, w)
		w.withGo(t)
		for _, modern := range []string{"-UMODERN", "-DMODERN"} {
			program := w.linked(t, dir, "mpif90", "-cpp", modern, "-fallow-argument-mismatch", absolute(t, "testdata/persistent.f90"))
			out, err := w.run(t, 3, nil, program)
			require.NoError(t, err, "%s: %s", modern, out)
			for _, want := range []string{"bcast: 10", "allreduce: 10", "alltoallv: 1", "reduce-scatter: 2"} {
				require.Contains(t, out, "schedgen: persistent "+want+" by engine go, ", modern)
			}
		}
	})
}
