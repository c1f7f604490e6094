package mpi

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

// Nonblocking operations have the same effect as the MPI's own, whichever function completes them.
// Engine c leaves them to the MPI.
func TestNonblocking(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		program := w.compile(t, "mpicc", "nonblocking.c", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow")
		out, err := w.run(t, 2, nil, program)
		require.NoError(t, err, out)
		require.Regexp(t, `schedgen: iallreduce: \d+ by MPI, that only engine go begins`, out)
		require.NotContains(t, out, "schedgen: iallreduce: 1 by MPI")

		w.withGo(t)
		for _, ranks := range heavy.Or([]int{1, 3}, []int{1, 2, 3, 4, 5, 8}) {
			for _, transport := range heavy.Or([]string{"auto"}, []string{"auto", "tcp"}) {
				args := append([]string{program, "go"}, heavy.Or(nil, []string{"longer"})...)
				out, err := w.run(t, ranks, []string{"SCHEDGEN_TRANSPORT=" + transport}, args...)
				require.NoError(t, err, "%d ranks, %s: %s", ranks, transport, out)
				for op := range Alltoall + 1 {
					if ranks == 1 {
						require.NotContains(t, out, " by engine go")
					} else {
						require.Regexp(t, fmt.Sprintf(`schedgen: i%s: \d+ by engine go, `, operationNames[op]), out)
					}
				}
			}
		}
	})
}

func TestNonblockingFortran(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		w.withGo(t)
		for _, modern := range []string{"-UMODERN", "-DMODERN"} {
			program := w.compile(t, "mpif90", "nonblocking.f90", "-cpp", modern)
			out, err := w.run(t, 3, nil, program)
			require.NoError(t, err, "%s: %s", modern, out)
			for _, want := range []string{"ibarrier: 3 by", "ibcast: 6 by", "iallreduce: 8 by", "iallgather: 1 by", "ireduce: 1 by"} {
				require.Contains(t, out, "schedgen: "+want, modern)
			}
			require.NotContains(t, out, "by MPI", modern)
		}
	})
}
