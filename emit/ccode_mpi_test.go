package emit_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/engine"
	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/internal/ir/term"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/test/mpitest"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// mpis are the implementations of MPI in Debian, with the flags of their mpirun for many ranks on
// one machine.
var mpis = []struct {
	name   string
	flags  []string
	yields bool // waiting ranks keep their cores unless the library of internal/lab/mpi/yield.c is used
}{
	{"openmpi", []string{"--oversubscribe", "--allow-run-as-root", "--mca", "btl_tcp_if_include", "lo", "--mca", "mpi_yield_when_idle", "1"}, false},
	{"mpich", []string{"-iface", "lo"}, true},
}

// TestEmittedCRuns compiles one program with the emitted functions of every algorithm among several
// numbers of ranks, and runs it under each MPI. The program compares every byte. The daily tests
// take few numbers, because waiting ranks keep the cores busy and each function takes time to
// compile.
func TestEmittedCRuns(t *testing.T) {
	heavy.Needs(t, heavy.MPI)
	sizes := heavy.Or([]int{1, 4, 5}, []int{1, 2, 3, 5, 7, 8})
	program := checkProgram(t, sizes)
	for _, mpi := range mpis {
		t.Run(mpi.name, func(t *testing.T) {
			t.Parallel()
			compiled := compile(t, mpi.name, program)
			flags := append([]string{}, mpi.flags...)
			if mpi.yields {
				flags = append(flags, "-genv", "LD_PRELOAD", yieldLibrary(t, mpi.name))
			}
			for _, ranks := range sizes {
				out, err := mpirun(t, mpi.name, flags, ranks, compiled)
				require.NoError(t, err, "%d ranks: %s", ranks, out)
			}
		})
	}
}

// TestEmittedCIsOneFile checks that a compiler needs only the emitted file. C90 and C++ are not
// required.
func TestEmittedCIsOneFile(t *testing.T) {
	for _, mpi := range heavy.Or(mpis[:1], mpis) {
		t.Run(mpi.name, func(t *testing.T) {
			var b bytes.Buffer
			spec, err := schedule.New("allreduce/doubling", schedule.Params{Ranks: 5})
			require.NoError(t, err)
			require.NoError(t, emit.Write(&b, "c", spec.Schedule(), emit.Options{}))
			main := b.String() + `
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (allreduce_doubling_5(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) || sum != 10)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
    return 0;
}
`
			out, err := mpirun(t, mpi.name, mpi.flags, 5, compile(t, mpi.name, main))
			require.NoError(t, err, "%s", out)
		})
	}
}

// compile compiles a program with the compiler of an MPI. It skips the test if there is none.
func compile(t *testing.T, mpi, source string) string {
	t.Helper()
	for _, tool := range []string{"mpicc." + mpi, "mpirun." + mpi} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "program.c")
	require.NoError(t, os.WriteFile(file, []byte(source), 0o644))
	out, err := exec.Command("mpicc."+mpi, "-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-o", filepath.Join(dir, "program"), file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return filepath.Join(dir, "program")
}

// yieldLibrary compiles a library that lets waiting ranks of MPICH give up their cores.
func yieldLibrary(t *testing.T, mpi string) string {
	t.Helper()
	library := filepath.Join(t.TempDir(), "yield.so")
	out, err := exec.Command("mpicc."+mpi, "-O2", "-shared", "-fPIC", "-o", library, "../internal/lab/mpi/yield.c", "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return library
}

// mpirun runs a program and returns its output. It fails if a rank hangs for two minutes.
func mpirun(t *testing.T, mpi string, flags []string, ranks int, program string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args := append(append([]string{}, flags...), "-n", fmt.Sprint(ranks), program)
	cmd := exec.CommandContext(ctx, "mpirun."+mpi, args...)
	cmd.Env = append(os.Environ(), mpitest.Env(t)...)
	cmd.WaitDelay = 5 * time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// checkProgram returns a program with a function for every algorithm, with several roots and
// numbers of ranks, and with chunks if the algorithm takes them.
func checkProgram(t *testing.T, sizes []int) string {
	t.Helper()
	var code, calls, rows bytes.Buffer
	n := 0
	add := func(alg schedule.Algorithm, p schedule.Params) {
		spec, err := schedule.New(alg.Name, p)
		require.NoError(t, err, alg.Name)
		s := spec.Schedule()
		name := fmt.Sprintf("f%d", n)
		n++
		require.NoError(t, emit.WriteCParts(&code, s, emit.Options{Package: name, Proved: true, RankOrder: spec.RankOrder()}))
		writeRow(t, &calls, &rows, s, name, spec.RankOrder())
	}
	for _, alg := range schedule.Algorithms() {
		for _, ranks := range sizes {
			p := schedule.Params{Ranks: ranks}
			if row := alg.Row(); row.Origin || !row.Rooted {
				add(alg, p)
			} else {
				for _, root := range heavy.Or([]int{0, ranks / 2}, []int{0, ranks / 2, ranks - 1}) {
					if root > 0 || p.Root == 0 {
						p.Root = root
						add(alg, p)
					}
					if ranks == 1 {
						break
					}
				}
			}
			p = schedule.Params{Ranks: ranks}
			if takes(alg, "chunks") && ranks > 2 {
				p.Chunks = 3 * alg.DefaultChunks(ranks)
				if ranks%2 == 1 && takes(alg, "hosts") {
					p.Hosts = 2
				}
				add(alg, p)
			}
		}
	}
	check, err := os.ReadFile("testdata/mpi/check.c")
	require.NoError(t, err)
	return "#define _POSIX_C_SOURCE 199309L\n#include <mpi.h>\n#include <time.h>\n" + engine.Interpreter + engine.MPI + code.String() + `
#include <stdio.h>

struct check {
    const char *name;
    int (*call)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    int ranks, blocks, per, inputs, buffers, ordered, in_place, one_held;
    const int (*held)[3], (*wanted)[3];
    const char *const *terms;
};
` + calls.String() + "static const struct check checks[] = {\n" + rows.String() + "};\n" + string(check)
}

func takes(alg schedule.Algorithm, param string) bool {
	return strings.Contains(" "+strings.Join(alg.Params, " ")+" ", " "+param+" ")
}

// writeRow writes what the program must know of a schedule: a function with the signature that all
// of them share, and a row of the table.
func writeRow(t *testing.T, calls, rows *bytes.Buffer, s *ir.Schedule, name string, ordered bool) {
	t.Helper()
	number := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	buffers, inputs, inPlace, oneHeld := 2, 0, true, true
	args := "in, out, count, type, comm"
	switch {
	case !s.HasMessage():
		buffers, args = 0, "comm"
	case s.Folds():
		inputs, args = s.InputChunks()/s.BlockChunks(), "in, out, count, type, op, comm"
	case s.Blocks() == 1:
		buffers, args = 1, "out, count, type, comm"
	}
	fmt.Fprintf(calls, "static int call_%s(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)\n", name)
	fmt.Fprintf(calls, "{\n    (void)in, (void)out, (void)count, (void)type, (void)op;\n    return %s(%s);\n}\n", name, args)
	most := max(inputs, 1) // blocks in a buffer of any rank
	var held, wanted []string
	for rank := range s.Ranks {
		h, w := s.Held(rank), s.Wanted(rank)
		held = append(held, fmt.Sprintf("{%d, %d, %d}", h.First, h.Step, h.Count))
		wanted = append(wanted, fmt.Sprintf("{%d, %d, %d}", w.First, max(w.Step, 1), w.Count))
		most = max(most, inputs+h.Count, w.Count)
		oneHeld = oneHeld && h.Count == 1
		// MPI accepts MPI_IN_PLACE as send buffer at all ranks, except where not all of them have
		// the result.
		inPlace = inPlace && buffers == 2 && s.QuestionChunks() == 0 && w.Count > 0 && (inputs > 0 || h.Count > 0 && h.Count <= w.Count)
	}
	fmt.Fprintf(calls, "static const int held_%s[][3] = {%s}, wanted_%s[][3] = {%s};\n", name, strings.Join(held, ", "), name, strings.Join(wanted, ", "))
	terms := "NULL"
	if s.Folds() {
		terms = "terms_" + name
		fmt.Fprintf(calls, "static const char *const %s[] = {%s};\n", terms, strings.Join(termsOf(t, s), ", "))
	}
	fmt.Fprintf(rows, "    {\"%s\", call_%s, %d, %d, %d, %d, %d, %d, %d, %d, held_%s, wanted_%s, %s},\n",
		s.Name(), name, s.Ranks, most, max(s.BlockChunks(), 1), inputs, buffers, number(ordered), number(inPlace), number(oneHeld), name, name, terms)
}

// termsOf returns the term from which each chunk is folded, as literals of C. The term is NULL if
// no rank wants the chunk or if it is not folded.
func termsOf(t *testing.T, s *ir.Schedule) []string {
	t.Helper()
	run, err := fixpoint.Run(s, fixpoint.Model{LoseMcast: true, Repairs: true})
	require.NoError(t, err)
	terms := term.Of(s, run)
	out := make([]string, s.Chunks)
	for k := range out {
		out[k] = "NULL"
		for rank := range s.Ranks {
			if wanted := s.Wanted(rank); wanted.Has(k) && s.FoldedRanks(k) > 0 {
				out[k] = fmt.Sprintf("%q", terms.Text(terms.Slot(rank, ir.Chunk(k)), 1000))
			}
		}
	}
	return out
}
