// Package debian gets the parts of a guest from Debian packages without installing them: a kernel,
// its modules, programs and their libraries.
package debian

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// output runs a program of the host and returns its standard output. An error holds its standard
// error. The program runs with English messages, so that its output can be parsed.
func output(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "LC_ALL=C"), env...)
	var says bytes.Buffer
	cmd.Stderr = &says
	out, err := cmd.Output()
	if err != nil {
		shown := append([]string{name}, args[:min(len(args), 4)]...)
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(shown, " "), err, bytes.TrimSpace(says.Bytes()))
	}
	return out, nil
}
