package mpi

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/test/mpitest"
	"github.com/schedgen/schedgen/schedule/selection"
)

// mpis are the implementations of MPI in Debian.
var mpis = []string{"openmpi", "mpich"}

// world starts programs under one MPI with the library, which serves a communicator from its first
// operation on.
type world struct {
	mpi     string
	library *Library
	preload string // libraries that the ranks load first
	env     []string
}

// scratch is a folder for what is built once for all tests.
var scratch string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "mpi")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	code := m.Run()
	_ = os.RemoveAll(dir) // a temporary folder
	os.Exit(code)
}

// goEngine builds the engine go once.
var goEngine = sync.OnceValues(func() (string, error) {
	command, err := os.Executable()
	if err != nil {
		return "", err
	}
	return BuildGo(context.Background(), scratch, command, false)
})

// library builds the library and its tables once.
var library = sync.OnceValues(func() (*Library, error) {
	l, err := Build(context.Background(), scratch, "", "")
	for ranks := 2; err == nil && ranks <= 9; ranks++ {
		_, err = WriteTables(l.TablesOf(ranks), ranks, selection.Builtin())
	}
	return l, err
})

// programs has the paths of the programs that compiled has made, by the command that made them.
var programs = make(map[string]string)

// compiled runs a compiler, unless it has run with the same arguments before. It returns the path
// of the program or the library that it has made.
func compiled(t *testing.T, compiler string, args ...string) string {
	t.Helper()
	key := fmt.Sprintf("%q", append([]string{compiler}, args...))
	if path, ok := programs[key]; ok {
		return path
	}
	path := filepath.Join(scratch, fmt.Sprint("program", len(programs)))
	out, err := exec.Command(compiler, append([]string{"-o", path}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	programs[key] = path
	return path
}

// withGo makes the ranks use the engine go.
func (w *world) withGo(t *testing.T) {
	t.Helper()
	path, err := goEngine()
	require.NoError(t, err)
	w.env = append(w.env, "SCHEDGEN_MPI=go", "SCHEDGEN_MPI_GO="+path)
}

// newWorld returns a world of an MPI. It skips the test if the stage does not run, or the MPI is
// not installed.
func newWorld(t *testing.T, mpi string) *world {
	t.Helper()
	heavy.Needs(t, heavy.MPI)
	for _, tool := range []string{"mpicc." + mpi, "mpirun." + mpi} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	library, err := library()
	require.NoError(t, err)
	w := &world{mpi: mpi, library: library, preload: library.Path, env: []string{"SCHEDGEN_MPI=c", "SCHEDGEN_MPI_REPORT=1", "SCHEDGEN_MPI_JOIN=0"}}
	if mpi == "mpich" {
		// Without this, waiting ranks keep their cores; and version 4.0.2 crashes in its own
		// MPI_Reduce.
		w.preload += ":" + compiled(t, "cc", "-O2", "-shared", "-fPIC", "../../internal/lab/mpi/yield.c", "-ldl")
		w.env = append(w.env, "MPIR_CVAR_REDUCE_DEVICE_COLLECTIVE=0")
	}
	return w
}

// ownTables makes the ranks read the tables of a folder of this test, which it returns, because the
// rules for engine auto are beside the tables.
func (w *world) ownTables(t *testing.T, ranks int) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Link(w.library.TablesOf(ranks), filepath.Join(dir, fmt.Sprintf("%d.tables", ranks))))
	w.env = append(w.env, "SCHEDGEN_MPI_TABLES="+dir)
	return dir
}

// compile compiles a program of testdata.
func (w *world) compile(t *testing.T, compiler, file string, flags ...string) string {
	t.Helper()
	compiler += "." + w.mpi
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("%s is not installed", compiler)
	}
	return compiled(t, compiler, append(flags, "testdata/"+file)...)
}

// hazards compiles hazards.c.
func (w *world) hazards(t *testing.T) string {
	t.Helper()
	return w.compile(t, "mpicc", "hazards.c", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow", "-pthread")
}

// run runs a program and returns its output. It fails after two minutes if a rank hangs.
func (w *world) run(t *testing.T, ranks int, env []string, program ...string) (string, error) {
	t.Helper()
	args := []string{"--oversubscribe", "--allow-run-as-root", "--mca", "btl_tcp_if_include", "lo", "--mca", "mpi_yield_when_idle", "1"}
	if w.mpi == "mpich" {
		args = []string{"-iface", "lo"}
	}
	for _, variable := range append(append([]string{"LD_PRELOAD=" + w.preload}, w.env...), env...) {
		if name, value, _ := strings.Cut(variable, "="); w.mpi == "mpich" {
			args = append(args, "-genv", name, value)
		} else {
			args = append(args, "-x", variable)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "mpirun."+w.mpi, append(append(args, "-n", fmt.Sprint(ranks)), program...)...)
	cmd.Env = append(os.Environ(), mpitest.Env(t)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// eachMPI runs a test under each MPI.
func eachMPI(t *testing.T, test func(t *testing.T, w *world)) {
	for _, mpi := range mpis {
		t.Run(mpi, func(t *testing.T) { test(t, newWorld(t, mpi)) })
	}
}

// Every operation has the same result in memory as the MPI's own, and every choice is used.
// Everyday tests use long messages, and thus every choice, under one MPI only, because the ranks of
// the other keep the cores busy.
func TestOperations(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	eachMPI(t, func(t *testing.T, w *world) {
		args := []string{w.compile(t, "mpicc", "check.c", "-O1", "-Wall", "-Wextra", "-Werror")}
		whole := heavy.Tests() || w.mpi == mpis[0]
		if !whole {
			args = append(args, "brief")
		}
		few := []int{1, 5}
		if !whole {
			few = []int{1, 3}
		}
		for _, ranks := range heavy.Or(few, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}) {
			out, err := w.run(t, ranks, nil, args...)
			require.NoError(t, err, "%d ranks: %s", ranks, out)
			for _, c := range Choices() {
				if ranks == 5 && whole {
					require.Contains(t, out, fmt.Sprintf(" by %s among 5 ranks", c.Algorithm))
				}
			}
			if ranks == 1 {
				require.Contains(t, out, " by MPI, of one rank")
				require.NotContains(t, out, " among ")
			}
		}
	})
}

// Both engines follow a file of rules. A file that a rank cannot read keeps it out of engine go.
func TestOperationsByRules(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		const text = `{"format": "schedgen-rules/1", "rules": [
			{"collective": "bcast", "algorithm": "bcast/linear"}, {"collective": "allreduce", "algorithm": "allreduce/ring"}]}`
		file := filepath.Join(t.TempDir(), "rules.json")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
		rules, err := selection.Parse([]byte(text))
		require.NoError(t, err)
		by, err := w.library.By(rules)
		require.NoError(t, err)
		_, err = WriteTables(by.TablesOf(3), 3, rules)
		require.NoError(t, err)
		w.env = append(w.env, "SCHEDGEN_MPI_TABLES="+by.Tables)
		program := w.compile(t, "mpicc", "check.c", "-O1", "-Wall", "-Wextra", "-Werror")
		out, err := w.run(t, 3, []string{"SCHEDGEN_RULES=" + file}, program, "brief")
		require.NoError(t, err, out)
		for _, name := range []string{"bcast/linear", "allreduce/ring", "allreduce/doubling", "gather/binomial"} {
			require.Contains(t, out, " by "+name+" among 3 ranks", "allreduce/doubling serves operations that do not commute")
		}
		require.NotContains(t, out, "bcast/binomial")
		w.withGo(t)
		out, err = w.run(t, 3, []string{"SCHEDGEN_RULES=" + file}, program, "brief")
		require.NoError(t, err, out)
		require.Regexp(t, `schedgen: bcast: \d+ by engine go, `, out)
		learned := filepath.Join(t.TempDir(), "learned.json")
		out, err = w.run(t, 3, []string{"SCHEDGEN_RULES=" + file, "SCHEDGEN_LEARN=" + learned}, program, "brief")
		require.NoError(t, err, out)
		require.Regexp(t, `schedgen: learned: allreduce among 3 ranks, up to \d+ bytes: `, out)
		written, err := os.ReadFile(learned)
		require.NoError(t, err)
		_, err = selection.Parse(written)
		require.NoError(t, err, "%s", written)
		out, err = w.run(t, 3, []string{"SCHEDGEN_RULES=" + file + ".not"}, program, "brief")
		require.NoError(t, err, out)
		require.Contains(t, out, "SCHEDGEN_RULES: open "+file+".not: no such file or directory")
		require.Contains(t, out, " by bcast/linear among 3 ranks")
	})
}

// The same holds for the engine go. Engine c serves the communicators beyond its limit.
func TestOperationsByGo(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		w.withGo(t)
		program := w.compile(t, "mpicc", "check.c", "-O1", "-Wall", "-Wextra", "-Werror")
		for _, ranks := range heavy.Or([]int{3}, []int{2, 3, 5}) {
			for _, transport := range heavy.Or([]string{"auto"}, []string{"auto", "tcp"}) {
				args := append([]string{program}, heavy.Or([]string{"brief"}, nil)...)
				out, err := w.run(t, ranks, []string{"SCHEDGEN_TRANSPORT=" + transport}, args...)
				require.NoError(t, err, "%d ranks, %s: %s", ranks, transport, out)
				for _, name := range operationNames {
					require.Regexp(t, fmt.Sprintf(`schedgen: %s: \d+ by engine go, `, name), out)
				}
			}
		}
	})
}

// Engine auto follows the rules in the file that it finds.
func TestRules(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		w.env = append(w.env, "SCHEDGEN_MPI=auto")
		program := w.compile(t, "mpicc", "check.c", "-O1", "-Wall", "-Wextra", "-Werror")
		rules := filepath.Join(w.ownTables(t, 3), "3-"+w.mpi+"-one-host.rules")

		write := func(text string) { require.NoError(t, os.WriteFile(rules, []byte(text), 0o666)) }
		write("schedgen rules 1\nallreduce 0 c\nallreduce 64 mpi\nbcast 0 mpi\nscan 0 go\nreduce x c\nno-such 0 c\n")
		out, err := w.run(t, 3, nil, program, "brief")
		require.NoError(t, err, out)
		require.Regexp(t, `schedgen: allreduce: \d+ by allreduce/doubling among 3 ranks`, out)
		require.NotContains(t, out, "by allreduce/halving", "MPI has what is longer")
		require.Contains(t, out, "by MPI, left to MPI by rules")
		for _, op := range []string{"bcast", "scan", "reduce", "allgather"} {
			require.NotContains(t, out, "by "+op+"/", "there is no engine go here, and no other rule")
		}

		none := []string{"schedgen rules 2\nallgather 0 c\n", "no rules", ""}
		for _, text := range heavy.Or(none[:1], none) {
			write(text)
			out, err = w.run(t, 3, nil, program, "brief")
			require.NoError(t, err, out)
			require.NotContains(t, out, "by allgather/doubling", "%q is no file of rules: short blocks are left to MPI", text)
		}
	})
}

// Tuning writes a file of rules.
func TestTune(t *testing.T) {
	if !heavy.Tests() {
		t.Skip("takes two minutes on a busy machine")
	}
	eachMPI(t, func(t *testing.T, w *world) {
		program := w.compile(t, "mpicc", "check.c", "-O1", "-Wall", "-Wextra", "-Werror")
		path, err := goEngine()
		require.NoError(t, err)
		rules := filepath.Join(w.ownTables(t, 3), "3-"+w.mpi+"-one-host.rules")
		out, err := w.run(t, 3, []string{"SCHEDGEN_MPI=auto", "SCHEDGEN_MPI_TUNE=0.2", "SCHEDGEN_MPI_GO=" + path}, program, "brief")
		require.NoError(t, err, out)
		require.Regexp(t, `schedgen: tune: 100 %  alltoall +2097152 B  MPI +[\d.]+ us  c +[\d.]+  go +[\d.]+\n`, out)
		require.Contains(t, out, "schedgen: tune: engine auto has its rules in "+rules)
		text, err := os.ReadFile(rules)
		require.NoError(t, err)
		require.Regexp(t, `^schedgen rules 1\n([a-z-]+ \d+ (mpi|c|go)\n)*$`, string(text))
	})
}

// A program without a collective operation measures before it ends.
func TestTuneAtTheEnd(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		program := w.compile(t, "mpicc", "nothing.c", "-O1", "-Wall", "-Wextra", "-Werror")
		tables := w.ownTables(t, 2)
		out, err := w.run(t, 2, []string{"SCHEDGEN_MPI=auto", "SCHEDGEN_MPI_TUNE=0.1"}, program)
		require.NoError(t, err, out)
		require.Contains(t, out, "schedgen: tune: engine auto has its rules in "+tables)
		out, err = w.run(t, 1, []string{"SCHEDGEN_MPI=auto", "SCHEDGEN_MPI_TUNE=0.1"}, program)
		require.NoError(t, err, out)
		require.Contains(t, out, "schedgen: tune: nothing was measured: there is one rank, or there are no tables")
	})
}

var operationNames = map[Operation]string{
	Barrier: "barrier", Bcast: "bcast", Reduce: "reduce", Allreduce: "allreduce", ReduceScatter: "reduce-scatter", Scan: "scan",
	Exscan: "exscan", Allgather: "allgather", Gather: "gather", Scatter: "scatter", Alltoall: "alltoall",
	AllgatherV: "allgatherv", GatherV: "gatherv", ScatterV: "scatterv", AlltoallV: "alltoallv",
}

func TestFortran(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		for _, modern := range []string{"-UMODERN", "-DMODERN"} {
			program := w.compile(t, "mpif90", "fortran.f90", "-cpp", modern)
			out, err := w.run(t, 3, nil, program)
			require.NoError(t, err, "%s: %s", modern, out)
			for _, want := range []string{"bcast: 1 by", "allreduce: 2 by", "allgather: 1 by", "gatherv: 1 by", "scan: 1 by", "barrier: 1 by", "reduce: 1 by"} {
				require.Contains(t, out, "schedgen: "+want, modern)
			}
			require.NotContains(t, out, "by MPI", modern)
		}
	})
}

// The functions of mpi_f08 work without their last argument.
func TestFortranWithoutIerror(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		program := w.compile(t, "mpif90", "optional.f90")
		for _, env := range [][]string{{}, {"SCHEDGEN_MPI=off", "SCHEDGEN_MPI_PROFILE=table"}} {
			out, err := w.run(t, 2, env, program)
			require.NoError(t, err, "%v: %s", env, out)
		}
		w.withGo(t)
		for _, how := range []string{"", "thread"} {
			out, err := w.run(t, 2, nil, program, how)
			require.NoError(t, err, "%s: %s", how, out)
			require.Contains(t, out, "ialltoallv: 1 by engine go", how)
		}
	})
}

// That test calls every function that the library defines for Fortran.
func TestFortranIsWhole(t *testing.T) {
	source, err := files.ReadFile("src/fortran.h")
	require.NoError(t, err)
	program, err := os.ReadFile("testdata/optional.f90")
	require.NoError(t, err)
	names := regexp.MustCompile(`(?m)^(?:FORTRAN(?:_[A-Z_]+)?\(|ALIAS\(MPI_)(\w+)`).FindAllSubmatch(source, -1)
	require.Greater(t, len(names), 40)
	for _, name := range names {
		require.Regexp(t, fmt.Sprintf(`(?i)\n *call MPI_%s\(`, name[1]), string(program))
	}
	require.NotContains(t, string(program), "err")
}

// The MPI performs operations with invalid arguments: all ranks get its errors, and communicators
// work afterwards. If the root alone sees an error, engine go notices that the ranks disagree.
func TestInvalidArguments(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		program := w.compile(t, "mpicc", "invalid.c", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow")
		line := regexp.MustCompile(`(?m)^(rank .*|[a-z_]+: .*: [\d ]+)\n`)
		classes := func(engine, form string) string {
			out, err := w.run(t, 3, []string{"SCHEDGEN_MPI=" + engine}, program, form)
			require.NoError(t, err, "%s, %s: %s", engine, form, out)
			require.Equal(t, engine != "off", strings.Contains(out, "by MPI, with arguments that are not valid"), "%s, %s: %s", engine, form, out)
			return strings.Join(line.FindAllString(out, -1), "")
		}
		blocking := classes("off", "rooted")
		require.Equal(t, blocking, classes("c", "rooted"))
		w.withGo(t)
		blocking, _, found := strings.Cut(blocking, "gather: the root's")
		require.True(t, found)
		require.Equal(t, blocking, classes("go", "blocking"))
		require.Equal(t, classes("off", "begun"), classes("go", "begun"))
	})
}

func TestHazards(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		program := w.hazards(t)
		for _, name := range []string{"rendezvous", "forwarding", "threads", "many", "exhausted", "children", "mismatch"} {
			t.Run(name, func(t *testing.T) {
				ranks := 4
				if name == "threads" || name == "exhausted" {
					ranks = heavy.Or(2, 4) // thousands of operations, each slow if ranks share cores
				}
				out, err := w.run(t, ranks, nil, program, name)
				require.NoError(t, err, out)
				require.Regexp(t, `among [24] ranks`, out)
				if name == "many" {
					require.Contains(t, out, "schedgen: set-up: communicators made: 64 in ", "of 300 at a time")
					require.Contains(t, out, "schedgen: allreduce: 236 by MPI, on a communicator for which there is no place")
				}
			})
		}
	})
}

// The library takes hardly any of the MPI's communicators from a program that has as many as it can.
// Open MPI has more than a test can make.
func TestCommunicatorsAtATime(t *testing.T) {
	w := newWorld(t, "mpich")
	program := w.hazards(t)
	var counts []string
	for _, engine := range []string{"off", "auto", "c"} {
		out, err := w.run(t, 2, []string{"SCHEDGEN_MPI=" + engine, "SCHEDGEN_MPI_JOIN=32"}, program, "alive")
		require.NoError(t, err, out)
		require.NotContains(t, out, "communicators made")
		counts = append(counts, regexp.MustCompile(`alive: \d+\n`).FindString(out))
	}
	require.NotEmpty(t, counts[0])
	require.Equal(t, []string{counts[0], counts[0], counts[0]}, counts)
}

// Nothing is made for a communicator, and its ranks agree on nothing, before it has had some
// operations. Then it waits, with engine auto, for one that an engine performs.
func TestNewCommunicators(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		program := w.hazards(t)
		rules := filepath.Join(w.ownTables(t, 2), "2-"+w.mpi+"-one-host.rules")
		run := func(engine, name string) string {
			out, err := w.run(t, 2, []string{"SCHEDGEN_MPI=" + engine, "SCHEDGEN_MPI_JOIN=32"}, program, name)
			require.NoError(t, err, out)
			return out
		}
		out := run("auto", "long-lived")
		require.Contains(t, out, "set-up: communicators whose ranks looked for rules: 1 in ")
		require.Contains(t, out, "set-up: communicators made: 1 in ")
		require.Contains(t, out, "barrier: 32 by MPI, on a communicator with few operations before, ")
		require.Contains(t, out, "barrier: 8 by MPI, left to MPI by rules, ")
		require.Contains(t, out, "allgather: 1 by allgather/linear among 2 ranks, ")

		require.NoError(t, os.WriteFile(rules, []byte("schedgen rules 1\nbarrier 0 c\n"), 0o666))
		out = run("auto", "long-lived")
		require.Contains(t, out, "set-up: communicators made: 1 in ")
		require.Contains(t, out, "barrier: 8 by barrier/dissemination among 2 ranks, ")
		require.Contains(t, out, "allgather: 1 by MPI, left to MPI by rules, ")

		require.NoError(t, os.WriteFile(rules, []byte("schedgen rules 1\nallreduce 0 c\nscan 0 go\n"), 0o666))
		require.NotContains(t, run("auto", "long-lived"), "communicators made", "no rule is for an operation of the program")

		require.NoError(t, os.WriteFile(rules, []byte("schedgen rules 1\nbarrier 0 c\n"), 0o666))
		require.Contains(t, run("auto", "not-for-long"), "set-up: communicators made: 4 in ", "of ten, because the first ones did not live long")

		for _, engine := range []string{"auto", "c"} {
			require.NotContains(t, run(engine, "short-lived"), "set-up", "%s: each has 32 operations", engine)
		}
	})
}

// Calls that MPI defines as local do not wait for other ranks.
func TestLocalCalls(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		program := w.compile(t, "mpicc", "local.c", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow")
		out, err := w.run(t, 3, nil, program)
		require.NoError(t, err, out)
		w.withGo(t)
		out, err = w.run(t, 3, nil, program)
		require.NoError(t, err, out)
		require.Contains(t, out, "schedgen: ibarrier: 30 by engine go")
		require.Regexp(t, `communicators that joined engine go: 2\d `, out, "freed ones have left it")
	})
}

func TestHazardsOfGo(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		w.withGo(t)
		program := w.hazards(t)
		names := []string{"rendezvous", "forwarding", "threads", "many", "children", "mismatch", "profiled", "profiled-before", "profiled-on-stack", "fork", "order", "slack", "mismatch-begun", "threads-begin"}
		for _, name := range heavy.Or(append(names[:4:4], names[len(names)-3:]...), names) {
			t.Run(name, func(t *testing.T) {
				out, err := w.run(t, 4, nil, program, name)
				require.NoError(t, err, out)
				require.Contains(t, out, " by engine go, ")
			})
		}
	})
}

// If one rank has no engine go, no rank uses it, and that rank says why.
func TestGoThatIsMissing(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		w.withGo(t)
		program := w.hazards(t)
		out, err := w.run(t, 3, []string{"SCHEDGEN_MPI_GO=/no/such/library"}, program, "few")
		require.NoError(t, err, out)
		require.Contains(t, out, "schedgen: rank 0: engine c in place of engine go: /no/such/library: ")
		require.Contains(t, out, "schedgen: allreduce: 12 by allreduce/doubling among 3 ranks")

		own := filepath.Join(t.TempDir(), "program")
		script := "#!/bin/sh\ntest \"$OMPI_COMM_WORLD_RANK$PMI_RANK\" = 1 && export SCHEDGEN_MPI_GO=\nexec \"$@\"\n"
		require.NoError(t, os.WriteFile(own, []byte(script), 0o777))
		out, err = w.run(t, 3, nil, own, program, "few")
		require.NoError(t, err, out)
		require.Contains(t, out, "schedgen: rank 1: engine c in place of engine go: SCHEDGEN_MPI_GO names no library")
		require.Contains(t, out, "schedgen: allreduce: 12 by allreduce/doubling among 3 ranks")
	})
}

// If one rank cannot join the engine go, the others do not wait until their patience ends.
func TestRankThatCannotJoin(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		w.withGo(t)
		program := w.hazards(t)
		own := filepath.Join(t.TempDir(), "program")
		script := "#!/bin/sh\ntest \"$OMPI_COMM_WORLD_RANK$PMI_RANK\" = 1 && export SCHEDGEN_TRANSPORT=pigeons\nexec \"$@\"\n"
		require.NoError(t, os.WriteFile(own, []byte(script), 0o777))
		out, err := w.run(t, 3, nil, own, program, "few")
		require.NoError(t, err, out)
		require.Contains(t, out, `schedgen: rank 1 of 3: SCHEDGEN_TRANSPORT is "pigeons", want one of tcp, `)
		require.Contains(t, out, "schedgen: engine c in place of engine go: rank 1 of 3 could not join it")
		require.Contains(t, out, "schedgen: allreduce: 12 by allreduce/doubling among 3 ranks")
		require.NotContains(t, out, "have not met")
	})
}

// Without a device the ranks do not use verbs. An error says what is missing.
func TestVerbsWithoutDevice(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		if _, err := os.Stat("/usr/include/rdma/rdma_cma.h"); err != nil {
			t.Skip(err)
		}
		if devices, err := os.ReadDir("/sys/class/infiniband"); err == nil && len(devices) > 0 {
			t.Skip("there is a device here; internal/lab/guests tests MPI programs with one")
		}
		command, err := os.Executable()
		require.NoError(t, err)
		with, err := BuildGo(t.Context(), scratch, command, true)
		require.NoError(t, err)
		w.withGo(t)
		program := w.hazards(t)
		run := func(env ...string) string {
			out, err := w.run(t, 3, append(env, "SCHEDGEN_TRANSPORT=verbs"), program, "few")
			require.NoError(t, err, out)
			require.Regexp(t, `schedgen: engine c in place of engine go: rank \d of 3 could not join it`, out)
			require.Contains(t, out, "schedgen: allreduce: 12 by allreduce/doubling among 3 ranks")
			return out
		}
		require.Contains(t, run(), "this program is built without verbs (go build -tags verbs, ")
		require.Contains(t, run("SCHEDGEN_MPI_GO="+with), " of 3: this system has no RDMA device (a software one: rdma link add rxe0 type rxe netdev eth0)")
	})
}

func TestBuildGoRefuses(t *testing.T) {
	_, err := BuildGo(t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "missing"), false)
	require.ErrorIs(t, err, os.ErrNotExist)
	command, err := os.Executable()
	require.NoError(t, err)
	t.Setenv("PATH", t.TempDir())
	_, err = BuildGo(t.Context(), t.TempDir(), command, false)
	require.EqualError(t, err, "there is no Go toolchain")
}

// Without tables the MPI performs everything, at all ranks. A command makes missing tables.
func TestTablesThatAreMissing(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		program := w.hazards(t)
		empty := t.TempDir()
		out, err := w.run(t, 3, []string{"SCHEDGEN_MPI_TABLES=" + empty}, program, "few")
		require.NoError(t, err, out)
		require.Contains(t, out, "schedgen: allreduce: 12 by MPI, without tables")

		require.NoError(t, os.WriteFile(filepath.Join(empty, "3.tables"), []byte("these are no tables"), 0o666))
		out, err = w.run(t, 3, []string{"SCHEDGEN_MPI_TABLES=" + empty}, program, "few")
		require.NoError(t, err, out)
		require.Contains(t, out, "schedgen: allreduce: 12 by MPI, without tables")
		require.NoError(t, os.Remove(filepath.Join(empty, "3.tables")))

		command := filepath.Join(t.TempDir(), "command")
		script := fmt.Sprintf("#!/bin/sh\ntest \"$1 $2 $4\" = 'mpi-tables --ranks --output' && cp %s/$3.tables \"$5\"\n", w.library.Tables)
		require.NoError(t, os.WriteFile(command, []byte(script), 0o777))
		out, err = w.run(t, 3, []string{"SCHEDGEN_MPI_TABLES=" + empty, "SCHEDGEN_MPI_COMMAND=" + command}, program, "few")
		require.NoError(t, err, out)
		require.Contains(t, out, "schedgen: allreduce: 12 by allreduce/doubling among 3 ranks")
		require.FileExists(t, filepath.Join(empty, "3.tables"))

		out, err = w.run(t, 3, []string{"SCHEDGEN_MPI=off"}, program, "few")
		require.NoError(t, err, out)
		require.NotContains(t, out, "schedgen: ")
	})
}

// A profiler that is loaded behind the library sees exactly the operations that are left to the
// MPI.
func TestProfilers(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		profiler := w.compile(t, "mpicc", "profiler.c", "-shared", "-fPIC")
		program := w.hazards(t)
		w.preload = w.library.Path + ":" + profiler + strings.TrimPrefix(w.preload, w.library.Path)
		for engine, seen := range map[string]int{"c": 0, "auto": 12, "off": 12} {
			out, err := w.run(t, 2, []string{"SCHEDGEN_MPI=" + engine}, program, "few")
			require.NoError(t, err, out)
			require.Contains(t, out, fmt.Sprintf("profiler: %d\n", seen), engine)
		}
	})
}

// An MPI with MPICH's ABI is known by its own name, and has rules of its own.
func TestOtherMPIs(t *testing.T) {
	w := newWorld(t, "mpich")
	w.preload += ":" + compiled(t, "cc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "testdata/intel.c")
	program := w.hazards(t)
	out, err := w.run(t, 3, nil, program, "few")
	require.NoError(t, err, out)
	require.Contains(t, out, "schedgen: allreduce: 12 by allreduce/doubling among 3 ranks")

	rules := filepath.Join(w.ownTables(t, 3), "3-intelmpi-one-host.rules")
	require.NoError(t, os.WriteFile(rules, []byte("schedgen rules 1\nallreduce 0 c\n"), 0o666))
	out, err = w.run(t, 3, []string{"SCHEDGEN_MPI=auto"}, program, "few")
	require.NoError(t, err, out)
	require.Contains(t, out, "schedgen: allreduce: 12 by allreduce/doubling among 3 ranks")
}

// An application that mostly broadcasts has the same result to the last bit, whoever broadcasts.
func TestMarkov(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		program := w.compile(t, "mpicc", "../../../internal/lab/mpi/markov.c", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror")
		goEngine, err := goEngine()
		require.NoError(t, err)
		result := regexp.MustCompile(`(?m)^\d+ squarings, checksum [0-9a-f]{16}, `)
		var results []string
		for _, engine := range []string{"off", "c", "go"} {
			out, err := w.run(t, 3, []string{"SCHEDGEN_MPI=" + engine, "SCHEDGEN_MPI_GO=" + goEngine}, program, "100", "2")
			require.NoError(t, err, "%s: %s", engine, out)
			results = append(results, result.FindString(out))
			if engine != "off" {
				require.Regexp(t, `schedgen: bcast: \d+ by (engine go, )?bcast/`, out)
			}
		}
		require.NotEmpty(t, results[0])
		require.Equal(t, []string{results[0], results[0], results[0]}, results)
	})
}

// A measurement in turn counts some calls even if its time is over at once.
func TestTurnWithoutTime(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		out, err := w.run(t, 2, nil, w.compile(t, "mpicc", "../../../internal/lab/mpi/turn.c", "-O1", "-Wall", "-Wextra", "-Werror"), "0", "allreduce", "8")
		require.NoError(t, err, out)
		require.Regexp(t, `ratio +\d+\.\d\d +\d+\.\d\d +\(10\)\n`, out)
	})
}

// The library does not affect a program that does not use MPI.
func TestOtherPrograms(t *testing.T) {
	library, err := library()
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command("sh", "-c", "echo hello")
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+library.Path, "SCHEDGEN_MPI=c")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "hello\n", string(out))
}

func TestBuild(t *testing.T) {
	cache := scratch // where another test has built the library, or will
	_, err := Build(t.Context(), cache, "no-such-compiler", "")
	require.EqualError(t, err, "there is no C compiler (no-such-compiler)")

	broken := filepath.Join(t.TempDir(), "cc")
	require.NoError(t, os.WriteFile(broken, []byte("#!/bin/sh\ntest \"$1\" = --version || { echo 'dlfcn.h: no such file'; exit 1; }\n"), 0o777))
	_, err = Build(t.Context(), cache, broken, "")
	require.ErrorContains(t, err, "exit status 1: dlfcn.h: no such file")

	first, err := Build(t.Context(), cache, "", `a "quoted\ path`)
	if err != nil {
		t.Skip(err)
	}
	require.FileExists(t, first.Path)
	again, err := Build(t.Context(), cache, "", `a "quoted\ path`)
	require.NoError(t, err)
	require.Equal(t, first, again)
	other, err := library()
	require.NoError(t, err)
	require.NotEqual(t, first.Path, other.Path)
	left, err := filepath.Glob(filepath.Join(cache, "*", "build*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// The root of a multicast of engine go starts when its policy allows it, and all bytes arrive with
// each policy.
func TestDelays(t *testing.T) {
	eachMPI(t, func(t *testing.T, w *world) {
		w.withGo(t)
		program := w.compile(t, "mpicc", "delay.c", "-O1", "-Wall", "-Wextra", "-Werror")
		file := filepath.Join(t.TempDir(), "rules.json")
		const text = `{"format": "schedgen-rules/1", "rules": [{"collective": "bcast", "multicast": true, "algorithm": "bcast/mcast-chain"}, {"collective": "bcast", "algorithm": "built-in"}]}`
		require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
		w.env = append(w.env, "SCHEDGEN_TRANSPORT=mcast", "SCHEDGEN_MPI_INTERFACE=lo", "SCHEDGEN_RULES="+file)
		for _, c := range []struct{ policy, when string }{{"none", "free"}, {"random-peer", "held"}, {"adaptive", ""}} {
			args := []string{program}
			if c.when != "" {
				args = append(args, c.when)
			}
			out, err := w.run(t, 3, []string{"SCHEDGEN_MPI_DELAY=" + c.policy}, args...)
			require.NoError(t, err, "%s: %s", c.policy, out)
			require.Contains(t, out, "schedgen: ibcast: 20 by engine go, bcast/mcast-chain among 3 ranks, ", c.policy)
		}
		out, err := w.run(t, 3, []string{"SCHEDGEN_MPI_DELAY=later"}, program)
		require.NoError(t, err, out)
		require.Contains(t, out, `SCHEDGEN_MPI_DELAY: no root-delay policy "later" (one of [none fixed adaptive random-peer])`)
	})
}
