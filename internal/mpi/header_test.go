package mpi

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/schedule"
)

// header writes the header and the libraries to a folder.
func header(t *testing.T, w *world) string {
	t.Helper()
	path, err := goEngine()
	require.NoError(t, err)
	dir := t.TempDir()
	names, err := WriteHeader(dir, w.library, path)
	require.NoError(t, err)
	for _, name := range names {
		require.FileExists(t, filepath.Join(dir, name))
	}
	// Programs are linked with the libraries, and nothing is loaded before.
	_, w.preload, _ = strings.Cut(w.preload, ":")
	w.env = slices.DeleteFunc(w.env, func(v string) bool { return v == "SCHEDGEN_MPI=c" })
	return dir
}

// linked compiles a program with the header in a folder.
func (w *world) linked(t *testing.T, dir, compiler string, args ...string) string {
	t.Helper()
	compiler += "." + w.mpi
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("%s is not installed", compiler)
	}
	program := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command(compiler, append(append([]string{"-o", program, "-I" + dir}, args...), "-L"+dir, "-lschedgen", "-Wl,-rpath,"+dir, "-lm")...)
	cmd.Dir = dir // for modules of Fortran
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	require.NoError(t, err)
	return path
}

// The functions of schedgen.h do what it says, with every engine for collectives, and no rank waits
// for another that has left or has refused.
func TestRootless(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		dir := header(t, w)
		program := w.linked(t, dir, "mpicc", "-O1", "-Wall", "-Wextra", "-Werror", absolute(t, "testdata/rootless.c"))
		for _, name := range []string{"messages", "unread", "finalize", "rendezvous", "questions", "sums", "misuse"} {
			t.Run(name, func(t *testing.T) {
				for _, ranks := range heavy.Or([]int{3}, []int{1, 2, 3, 5}) {
					if ranks == 1 && (name == "finalize" || name == "rendezvous") {
						continue
					}
					for _, engine := range heavy.Or([]string{"auto"}, []string{"auto", "off", "c", "go"}) {
						out, err := w.run(t, ranks, []string{"SCHEDGEN_MPI=" + engine}, program, name)
						require.NoError(t, err, "%d ranks, %s: %s", ranks, engine, out)
						require.Equal(t, ranks, strings.Count(out, " is done\n"), out)
					}
				}
			})
		}
	})
}

// If one rank cannot open a communicator, no rank does, and a line says why.
func TestRootlessThatCannotOpen(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		dir := header(t, w)
		program := w.linked(t, dir, "mpicc", "-O1", absolute(t, "testdata/rootless.c"))
		own := filepath.Join(t.TempDir(), "own")
		for variable, want := range map[string]string{
			"SCHEDGEN_MPI_GO=/no/such/library": "schedgen: rank 1: schedgen_open fails: /no/such/library: ",
			"SCHEDGEN_TRANSPORT=pigeons":       `schedgen: rank 1 of 3: SCHEDGEN_TRANSPORT is "pigeons", want one of tcp, `,
		} {
			script := "#!/bin/sh\ntest \"$OMPI_COMM_WORLD_RANK$PMI_RANK\" = 1 && export " + variable + "\nexec \"$@\"\n"
			require.NoError(t, os.WriteFile(own, []byte(script), 0o777))
			out, err := w.run(t, 3, nil, own, program, "closed")
			require.NoError(t, err, out)
			require.Contains(t, out, want)
			require.Equal(t, 3, strings.Count(out, " is done\n"), out)
		}
	})
}

// A program that is linked with the library may have functions of emitted C, too, and both work on
// one communicator, with every engine.
func TestEmittedC(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		dir := header(t, w)
		var emitted bytes.Buffer
		spec, err := schedule.New("allreduce/doubling", schedule.Params{Ranks: 3})
		require.NoError(t, err)
		require.NoError(t, emit.Write(&emitted, "c", spec.Schedule(), emit.Options{Package: "of_schedule"}))
		source := filepath.Join(t.TempDir(), "schedule.c")
		require.NoError(t, os.WriteFile(source, emitted.Bytes(), 0o666))
		program := w.linked(t, dir, "mpicc", "-O1", source, absolute(t, "testdata/emitted.c"))
		for _, engine := range []string{"c", "go", "off"} {
			out, err := w.run(t, 3, []string{"SCHEDGEN_MPI=" + engine}, program)
			require.NoError(t, err, "%s: %s", engine, out)
			require.Contains(t, out, "all sums are right\n", engine)
			require.Equal(t, engine != "off", strings.Contains(out, "schedgen: allreduce: 20 by "), "%s: %s", engine, out)
		}
	})
}

// Where the MPI itself gets SCHEDGEN_EXACT_SUM, it does not round: the program ends.
func TestExactSumThatIsNotInFront(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		dir := header(t, w)
		program := w.linked(t, dir, "mpicc", "-O1", absolute(t, "testdata/behind.c"))
		words := filepath.Join(t.TempDir(), "stderr") // mpirun may lose what a rank says before it aborts
		out, err := w.run(t, 2, nil, "sh", "-c", `exec "$0" 2>>"$1"`, program, words)
		require.Error(t, err)
		require.NotContains(t, out, "has a sum")
		said, err := os.ReadFile(words)
		require.NoError(t, err)
		require.Contains(t, string(said), "schedgen: SCHEDGEN_EXACT_SUM: rank ")
	})
}

// The examples run as they say.
func TestRootlessExamples(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		dir := header(t, w)
		t.Run("c", func(t *testing.T) {
			out, err := w.run(t, 3, nil, w.linked(t, dir, "mpicc", "-Wall", "-Wextra", "-Werror", absolute(t, "../../examples/rootless/rootless.c")))
			require.NoError(t, err, out)
			require.Contains(t, out, "rank 1 has found 4321\n")
			require.Contains(t, out, "all know of 4321; the sums are close\n")
		})
		t.Run("fortran", func(t *testing.T) {
			out, err := w.run(t, 3, nil, w.linked(t, dir, "mpif90", dir+"/schedgen.f90", absolute(t, "../../examples/rootless/rootless.f90")))
			require.NoError(t, err, out)
			for _, want := range []string{"rank 0 has got hello from rank 1\n", "rank 2 has got hello from rank 1\n", "all say 27.0\n", "the exact sums are 1.0 3.0 6.0"} {
				require.Contains(t, out, want)
			}
		})
		t.Run("python", func(t *testing.T) {
			python, env := pythonWith(t, w.mpi)
			w.preload = "" // yield.c does not find an MPI that is loaded later
			out, err := w.run(t, 3, env, python, absolute(t, "../../examples/rootless/rootless.py"), dir)
			require.NoError(t, err, out)
			// Python writes the end of a line by itself, so that of another rank may come between.
			for _, want := range []string{"rank 0 has got hello from rank 1", "rank 2 has got hello from rank 1", "all say 27.0", "the exact sum is 1.0"} {
				require.Contains(t, out, want)
			}
		})
	})
}

// pythonWith returns a Python whose mpi4py is built for an MPI, and variables for it. Debian has it for
// Open MPI only; for MPICH a module of testdata stands in for it, unless SCHEDGEN_PYTHON names a Python.
func pythonWith(t *testing.T, mpi string) (python string, env []string) {
	t.Helper()
	vendor := map[string]string{"openmpi": "Open MPI", "mpich": "MPICH"}[mpi]
	for _, python := range []string{os.Getenv("SCHEDGEN_PYTHON"), "python3", "/usr/bin/python3"} {
		if python == "" {
			continue
		}
		out, err := exec.Command(python, "-c", "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(MPI.get_vendor()[0])").Output()
		if err == nil && strings.TrimSpace(string(out)) == vendor {
			return python, nil
		}
	}
	if python, err := exec.LookPath("python3"); err == nil && mpi == "mpich" {
		return python, []string{"PYTHONPATH=" + absolute(t, "testdata/standin")}
	}
	t.Skipf("no python3 here has mpi4py for %s", vendor)
	return "", nil
}
