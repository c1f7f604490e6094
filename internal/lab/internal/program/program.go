// Package program builds and runs programs that are measured.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The packages of the programs that verbs build, below the root of the module. Each program has the
// name of its package.
const (
	Schedgen = "./cmd/schedgen"  // runs ranks and makes schedules
	Cast     = "./cmd/schedcast" // sends and receives files
)

// Self returns the command that runs a hidden verb of this program in a process of its own.
func Self(ctx context.Context, verb string, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return exec.CommandContext(ctx, self, append([]string{verb}, args...)...), nil
}

// Execute runs a program to its end and shows its output.
func Execute(ctx context.Context, output io.Writer, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return nil
}

// ModuleRoot returns the directory of this module. The current directory must be inside it.
func ModuleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if filepath.Base(mod) != "go.mod" {
		return "", errors.New("run this within the module")
	}
	return filepath.Dir(mod), nil
}

// Programs is a temporary directory with compiled programs.
type Programs struct{ Dir string }

// Path returns the path of the program of a package, or of another file in the directory.
func (p Programs) Path(name string) string { return filepath.Join(p.Dir, filepath.Base(name)) }

// Remove removes the directory. The system removes it in the end if this fails.
func (p Programs) Remove() { _ = os.RemoveAll(p.Dir) }

// Build compiles packages of this module, such as [Schedgen], into a new temporary directory. The
// caller removes the programs.
func Build(ctx context.Context, stderr io.Writer, packages ...string) (p Programs, err error) {
	root, err := ModuleRoot(ctx)
	if err != nil {
		return p, err
	}
	if p.Dir, err = os.MkdirTemp("", "schedlab-"); err != nil {
		return p, fmt.Errorf("build: %w", err)
	}
	for _, pkg := range packages {
		if err := Execute(ctx, stderr, "go", "build", "-C", root, "-o", p.Path(filepath.Base(pkg)), pkg); err != nil {
			p.Remove()
			return p, err
		}
	}
	return p, nil
}
