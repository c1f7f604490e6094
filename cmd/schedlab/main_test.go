package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/command/commandtest"
	"github.com/schedgen/schedgen/internal/test/heavy"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"schedlab": main})
}

func TestHelp(t *testing.T) { commandtest.Help(t, &schedlab) }

// TestScripts runs the scripts of testdata/script. They have one command more than testscript's,
// "exits CODE schedlab ARG…", which requires an exit code. The condition heavy holds if all cases
// run.
func TestScripts(t *testing.T) {
	caches, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	require.NoError(t, err)
	built, modules, _ := strings.Cut(strings.TrimSpace(string(caches)), "\n")
	home, err := os.Getwd()
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("GOCACHE", built) // each script has its own home directory, where everything would be built again
			env.Setenv("GOMODCACHE", modules)
			env.Setenv("SCHEDGEN_PACE", "off") // and there is no home directory for the costs of this machine
			env.Setenv("MODULE", filepath.Join(home, "..", ".."))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "heavy" {
				return heavy.Tests(), nil
			}
			return false, errors.New("unknown condition " + cond)
		},
		UpdateScripts: os.Getenv("SCHEDGEN_UPDATE") != "",
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// TestKindsOfCompletionAreKnown checks that every kind of completion that a field names has values.
func TestKindsOfCompletionAreKnown(t *testing.T) {
	_ = kong.Visit(commandtest.Parser(t, &schedlab).Model, func(v kong.Visitable, next kong.Next) error {
		value, ok := v.(*kong.Value)
		if flag, isFlag := v.(*kong.Flag); isFlag {
			value, ok = flag.Value, true
		}
		if ok && value.Tag.Has(command.CompleteTag) {
			for kind := range strings.SplitSeq(value.Tag.Get(command.CompleteTag), ",") {
				require.True(t, schedlab.Sources[kind] != nil || kind == "file" || kind == "directory" || kind == "verb", kind)
			}
		}
		return next(nil)
	})
}
