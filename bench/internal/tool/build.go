package tool

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

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

// Path returns the path of a program, or of another file in the directory.
func (p Programs) Path(name string) string { return filepath.Join(p.Dir, name) }

// Remove removes the directory. The system removes it in the end if this fails.
func (p Programs) Remove() { _ = os.RemoveAll(p.Dir) }

// Build compiles packages of this module, such as "./cmd/schedgen", into a new temporary directory
// for the given command. Each program has the name of its package. The caller removes the programs.
func Build(ctx context.Context, stderr io.Writer, command string, packages ...string) (p Programs, err error) {
	root, err := ModuleRoot(ctx)
	if err != nil {
		return p, err
	}
	if p.Dir, err = os.MkdirTemp("", "schedgen-"+command+"-"); err != nil {
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

// Exit prints the error of a command to standard error and ends the process with code 2. It returns
// if err is nil, or if the error is that help was asked for.
func Exit(command string, err error) {
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", command, err)
		os.Exit(2)
	}
}
