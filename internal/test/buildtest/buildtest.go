// Package buildtest builds the programs that tests start. It builds each program once for all tests
// of a package, because linking takes seconds of processor time.
package buildtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// built has the results of builds by their arguments, in a directory that Main removes.
var built struct {
	sync.Mutex
	dir      string
	programs map[string]func() (string, error)
}

// Main runs the tests of a package, which are usually a *testing.M. It removes the programs that
// Program has built and returns the exit code.
func Main(tests interface{ Run() int }) int {
	code := tests.Run()
	built.Lock()
	defer built.Unlock()
	if err := os.RemoveAll(built.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

// Program returns the path of the program of a main package, built with some flags of "go build". It
// builds the program if no test has done so before, and fails the test if that fails. The directory
// pkg begins with a dot. The TestMain of the package must call Main.
func Program(t testing.TB, pkg string, flags ...string) string {
	t.Helper()
	path, err := once(pkg, flags)()
	if err != nil {
		t.Fatalf("build %s: %v", pkg, err)
	}
	return path
}

// once returns the function that builds a program when it is first called.
func once(pkg string, flags []string) func() (string, error) {
	built.Lock()
	defer built.Unlock()
	key := fmt.Sprintf("%q %q", pkg, flags)
	if f, ok := built.programs[key]; ok {
		return f
	}
	if built.programs == nil {
		built.programs = make(map[string]func() (string, error))
	}
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "programs-")
		if err != nil {
			return func() (string, error) { return "", err }
		}
		built.dir = dir
	}
	dir := filepath.Join(built.dir, fmt.Sprint(len(built.programs)))
	f := sync.OnceValues(func() (string, error) { return build(dir, pkg, flags) })
	built.programs[key] = f
	return f
}

// build builds a program in dir, without tables for debuggers, which take a third of the time. The
// name of the program is that of its package's directory.
func build(dir, pkg string, flags []string) (string, error) {
	from, err := filepath.Abs(pkg)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, filepath.Base(from))
	args := append([]string{"build", "-ldflags=-w", "-o", path}, flags...)
	if out, err := exec.Command("go", append(args, pkg)...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return path, nil
}
