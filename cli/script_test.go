package cli

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/buildtest"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/test/porttest"
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
	if filepath.Base(os.Args[0]) == "schedgen" || len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		os.Exit(Main(os.Args[1:])) // a test has started the command, or a command in this process has started itself with a verb
	}
	// Choices are the same on every machine.
	if err := os.Setenv("SCHEDGEN_PACE", "off"); err != nil {
		panic(err)
	}
	// The race detector would otherwise make each process sleep for a second when it exits.
	if err := os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	_ = flag.Set("test.parallel", "12") // most parallel tests only wait; -parallel overrides this
	os.Exit(buildtest.Main(m))
}

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
// which nobody listens. Scripts have these commands in addition to testscript's:
//
//	schedgen ARG… [<FILE]           run a command line in this process
//	exits CODE COMMAND ARG…         run "schedgen", or "exec" and a program, which must exit with CODE
//	interrupts schedgen ARG…        send an interrupt to a process after its first line of output
//
// The program schedgen is for "exec": it runs in the background, has a terminal, waits for long, or
// needs the environment of a process. The condition heavy holds if all cases run, and mpi if that
// stage runs.
func TestScripts(t *testing.T) {
	caches, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	require.NoError(t, err)
	built, modules, _ := strings.Cut(strings.TrimSpace(string(caches)), "\n")
	exe, err := os.Executable()
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.Symlink(exe, filepath.Join(bin, "schedgen")))
	home, err := os.Getwd()
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join(home, "testdata", "script"),
		Setup: func(env *testscript.Env) error {
			for i := range 9 {
				env.Setenv(fmt.Sprint("free", i+1), porttest.Hold(t))
			}
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Setenv("GOCACHE", built) // each script has its own home directory, where everything would be built again
			env.Setenv("GOMODCACHE", modules)
			env.Setenv("SCHEDGEN_PACE", "off") // choices are the same on every machine
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
			"schedgen": func(ts *testscript.TestScript, neg bool, args []string) {
				if code := inProcess(ts, args); neg != (code != terminal.Good) {
					ts.Fatalf("exit code %d", code)
				}
			},
			"exits":      exits,
			"interrupts": interrupts,
		},
	})
}

// oneDirectory is held by the script in whose directory this process works. TestScripts is not
// parallel, so that no other test runs meanwhile.
var oneDirectory sync.Mutex

// inProcess runs a command line in this process, and returns its exit code. The last argument may
// be <FILE, which is the standard input.
func inProcess(ts *testscript.TestScript, args []string) int {
	var in string
	if n := len(args) - 1; n >= 0 && strings.HasPrefix(args[n], "<") {
		in, args = ts.ReadFile(args[n][1:]), args[:n]
	}
	oneDirectory.Lock()
	defer oneDirectory.Unlock()
	home, err := os.Getwd()
	ts.Check(err)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	code, out, said := runHere(context.Background(), args, strings.NewReader(in), ts.Getenv)
	ts.Check(os.Chdir(home))
	_, err = io.WriteString(ts.Stdout(), out)
	ts.Check(err)
	_, err = io.WriteString(ts.Stderr(), said)
	ts.Check(err)
	return code
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var got int
	switch args[1] {
	case "schedgen":
		got = inProcess(ts, args[2:])
	case "exec":
		got = exitCode(ts, ts.Exec(args[2], args[3:]...))
	default:
		ts.Fatalf("%s: exits runs schedgen or exec", args[1])
	}
	if got != want {
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
	if neg || len(args) < 2 || args[0] != "schedgen" {
		ts.Fatalf("usage: interrupts schedgen ARG…")
	}
	exe, err := os.Executable()
	ts.Check(err)
	cmd := exec.Command(exe, args[1:]...)
	cmd.Args[0] = args[0]
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
	if got := exitCode(ts, cmd.Wait()); got != terminal.Interrupted {
		ts.Fatalf("exit code %d, want %d", got, terminal.Interrupted)
	}
}
