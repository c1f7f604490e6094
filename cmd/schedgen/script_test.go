package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/buildtest"
	"github.com/schedgen/schedgen/internal/heavy"
	"github.com/schedgen/schedgen/internal/porttest"
	"github.com/schedgen/schedgen/ir"
)

// inventing is a variable of the environment. If it is set, TestMain adds the collective deal to
// the table, also in the commands of scripts.
const inventing = "SCHEDGEN_TEST_INVENTS"

func TestMain(m *testing.M) {
	if os.Getenv(inventing) != "" {
		if err := ir.Define(deal); err != nil {
			panic(err)
		}
	}
	_ = flag.Set("test.parallel", "6") // most parallel tests only wait; -parallel overrides this
	testscript.Main(tests{m}, map[string]func(){"schedgen": main})
}

// tests are the tests of this package. After they have run, it removes the programs that they have
// built.
type tests struct{ *testing.M }

func (t tests) Run() int { return buildtest.Main(t.M) }

// deal is a collective that is defined here alone: the root deals two blocks to each rank.
var deal = ir.Collective{
	Name: "deal", Rooted: true, Blocks: func(ranks int) int { return 2 * ranks },
	Held: func(ranks, root, rank int) ir.Blocks {
		if rank != root {
			return ir.Blocks{}
		}
		return ir.Blocks{Step: 1, Count: 2 * ranks}
	},
	Wanted: func(ranks, _, rank int) ir.Blocks { return ir.Blocks{First: rank, Step: ranks, Count: 2} },
}

// TestScripts runs the scripts of testdata/script. The variables free1 to free9 hold addresses at
// which nobody listens. Scripts have two commands in addition to testscript's. "exits N command …"
// runs a command that must exit with N. "interrupts command …" sends an interrupt after the first
// line of output. The condition heavy holds if all cases run, and mpi if that stage runs.
func TestScripts(t *testing.T) {
	caches, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	require.NoError(t, err)
	built, modules, _ := strings.Cut(strings.TrimSpace(string(caches)), "\n")
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			for i := range 9 {
				env.Setenv(fmt.Sprint("free", i+1), porttest.Hold(t))
			}
			env.Setenv("GOCACHE", built) // each script has its own home directory, where everything would be built again
			env.Setenv("GOMODCACHE", modules)
			env.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector would otherwise make each process sleep for a second
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "heavy":
				return heavy.Tests(), nil
			case string(heavy.MPI):
				return heavy.MPI.Runs(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		UpdateScripts: os.Getenv("SCHEDGEN_UPDATE") != "",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      exits,
			"interrupts": interrupts,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitCode(ts, ts.Exec(args[1], args[2:]...)); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func exitCode(ts *testscript.TestScript, err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	ts.Check(err)
	return 0
}

func interrupts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: interrupts COMMAND [ARG…]")
	}
	ts.Check(os.Setenv("PATH", ts.Getenv("PATH")))
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Stderr = ts.Stderr()
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	r := bufio.NewReader(out)
	_, err = r.ReadString('\n')
	ts.Check(err)
	ts.Check(cmd.Process.Signal(os.Interrupt))
	_, err = r.WriteTo(ts.Stdout())
	ts.Check(err)
	if got := exitCode(ts, cmd.Wait()); got != exitInterrupted {
		ts.Fatalf("exit code %d, want %d", got, exitInterrupted)
	}
}
