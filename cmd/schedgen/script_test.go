package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/schedgen/schedgen/internal/porttest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"schedgen": main})
}

// TestScripts runs testdata/script, with addresses that nobody listens at as $free1 to $free9. Beside the commands of testscript there
// are "exits N command …", which runs a command and wants that exit code, and
// "interrupts command …", which sends an interrupt after the first line of
// output.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			for i := range 9 {
				env.Setenv(fmt.Sprint("free", i+1), porttest.Hold(t))
			}
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else a second a process under the race detector
			return nil
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
