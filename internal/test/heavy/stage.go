package heavy

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// A Stage is a set of tests that need more than Go and a loopback network, or more time.
type Stage string

// The stages.
const (
	MPI        Stage = "mpi"        // programs of an MPI run under its mpirun
	Namespaces Stage = "namespaces" // root makes networks of hosts on this machine
	SSH        Stage = "ssh"        // casts to several hosts of a real sshd
	Transports Stage = "transports" // rules of the protocol over every transport, in real time
)

// Needs skips a test unless its stage runs. SCHEDGEN_STAGES names the stages that run, with commas
// between them. With SCHEDGEN_HEAVY=1 all run.
func Needs(t testing.TB, s Stage) {
	t.Helper()
	if !s.Runs() {
		t.Skipf("needs SCHEDGEN_STAGES=%s", s)
	}
}

// Runs reports whether the tests of the stage run.
func (s Stage) Runs() bool {
	return Tests() || slices.Contains(strings.Split(os.Getenv("SCHEDGEN_STAGES"), ","), string(s))
}
