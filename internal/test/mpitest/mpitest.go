// Package mpitest has what tests need that start mpirun.
package mpitest

import (
	"os"
	"testing"
)

// Env returns variables, "NAME=value", for the environment of an mpirun. It may then run as root,
// and beside other mpiruns: Open MPI makes a directory for all that a user runs on a host, and
// fails if another mpirun makes it at the same moment. So each call gets another directory for
// temporary files. Its name is short, since sockets stand in it.
func Env(t testing.TB) []string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mpi")
	if err != nil {
		t.Fatalf("make a directory for mpirun: %v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the directory of mpirun: %v", err)
		}
	})
	return []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "TMPDIR=" + dir}
}
