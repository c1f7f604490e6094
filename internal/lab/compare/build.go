package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/schedgen/schedgen/internal/lab/internal/program"
)

// built holds the programs to run: schedgen and, for each peer that is installed, its launcher and
// its micro-benchmark. The launcher of a missing peer is "".
type built struct {
	program.Programs
	openMPI, microOpenMPI    string
	mpich, microMPICH, yield string
}

// packages are the Debian packages of the peers and of their compilers.
var packages = []string{"gcc", "libc6-dev", "openmpi-bin", "libopenmpi-dev", "mpich", "libmpich-dev"}

// install installs the peers from the distribution.
func install(ctx context.Context, stderr io.Writer) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("--install knows apt-get only; install %s yourself: %w", strings.Join(packages, " "), err)
	}
	if err := program.Execute(ctx, stderr, "apt-get", "update", "-q"); err != nil {
		return err
	}
	return program.Execute(ctx, stderr, "apt-get", append([]string{"install", "-y", "-q", "--no-install-recommends"}, packages...)...)
}

// build compiles schedgen, and the micro-benchmark for each peer that is installed. It leaves out
// the other peers.
func build(ctx context.Context, stderr io.Writer) (*built, error) {
	root, err := program.ModuleRoot(ctx)
	if err != nil {
		return nil, err
	}
	b := new(built)
	if b.Programs, err = program.Build(ctx, stderr, program.Schedgen); err != nil {
		return nil, err
	}
	if err := b.compilePeers(ctx, filepath.Join(root, "internal", "lab", "mpi"), stderr); err != nil {
		b.Remove()
		return nil, err
	}
	return b, nil
}

// compilePeers compiles the micro-benchmarks of the peers.
func (b *built) compilePeers(ctx context.Context, source string, stderr io.Writer) error {
	micro := filepath.Join(source, "micro.c")
	for _, p := range []struct {
		name          string
		launcher, exe *string
	}{{"openmpi", &b.openMPI, &b.microOpenMPI}, {"mpich", &b.mpich, &b.microMPICH}} {
		compiler, err := exec.LookPath("mpicc." + p.name)
		launcher, err2 := exec.LookPath("mpirun." + p.name)
		if err := errors.Join(err, err2); err != nil {
			fmt.Fprintf(stderr, "without %s (--install installs it): %v\n", p.name, err)
			continue
		}
		*p.launcher, *p.exe = launcher, b.Path("micro."+p.name)
		// The compiler takes MPI_STATUSES_IGNORE for an array that is too short.
		if err := program.Execute(ctx, stderr, compiler, "-std=c11", "-O2", "-Wno-stringop-overflow", "-o", *p.exe, micro); err != nil {
			return err
		}
	}
	if b.mpich == "" {
		return nil
	}
	b.yield = b.Path("yield.so")
	return program.Execute(ctx, stderr, "mpicc.mpich", "-O2", "-shared", "-fPIC", "-o", b.yield, filepath.Join(source, "yield.c"), "-ldl")
}
