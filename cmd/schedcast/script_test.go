package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/buildtest"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/test/porttest"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == program {
		main() // a test has started the command
	}
	_ = flag.Set("test.parallel", "12") // most parallel tests only wait; -parallel overrides this
	os.Exit(buildtest.Main(m))
}

// invoke runs a command line in this process.
func invoke(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runHere(args, nil, func(string) string { return "" })
}

func runHere(args []string, in io.Reader, getenv func(string) string) (code int, stdout, stderr string) {
	var out, said strings.Builder
	std := terminal.Stdio{In: in, Out: &out, Err: &said, Getenv: getenv, Program: program}
	code = terminal.Run(context.Background(), std, func(ctx context.Context, std terminal.Stdio) error { return commandLine().run(ctx, std, args) })
	return code, out.String(), said.String()
}

// TestScripts runs the scripts of testdata/script. The variables free1 to free9 hold addresses at
// which nobody listens. Scripts have this command in addition to testscript's:
//
//	exits CODE ARG…     run a command line in this process, which must exit with CODE
func TestScripts(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.Symlink(exe, filepath.Join(bin, program)))
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			for i := range 9 {
				env.Setenv(fmt.Sprint("free", i+1), porttest.Hold(t))
			}
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "heavy" {
				return heavy.Tests(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		UpdateScripts: os.Getenv("SCHEDGEN_UPDATE") != "",
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits runs a command line in the directory of the script. TestScripts is not parallel, so that no
// other test runs meanwhile. There is one script, so no other script works in a directory.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	home, err := os.Getwd()
	ts.Check(err)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	got, out, said := runHere(args[1:], nil, ts.Getenv)
	ts.Check(os.Chdir(home))
	_, err = io.WriteString(ts.Stdout(), out)
	ts.Check(err)
	_, err = io.WriteString(ts.Stderr(), said)
	ts.Check(err)
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
