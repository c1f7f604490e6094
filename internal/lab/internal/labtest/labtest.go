// Package labtest parses and runs the command lines of verbs in the tests of their packages.
package labtest

import (
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/buildtest"
)

// Program returns a command with some verbs of schedlab. Each call of verbs returns a new grammar.
func Program(verbs func() any) *command.Program {
	return &command.Program{Name: "schedlab", Verbs: func([]string) any { return verbs() }}
}

// Main runs the tests of a package and returns the exit code. If this process is one that a verb
// has started, it runs a verb of p in place of the tests.
func Main(m *testing.M, p *command.Program) int {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		return p.Main(os.Args[1:])
	}
	return buildtest.Main(m)
}

// Run runs a command line in this process. It returns the exit code and what the command prints.
func Run(t *testing.T, p *command.Program, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs output
	code = p.Run(t.Context(), args, terminal.Stdio{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: os.Getenv})
	t.Logf("%s%s", &out, &errs)
	return code, out.String(), errs.String()
}

// Parse returns a verb of type V with the given flags and arguments.
func Parse[V any](t *testing.T, args ...string) (*V, error) {
	t.Helper()
	grammar := new(struct {
		Verb V `cmd:""`
		command.About
	})
	parser, err := Program(nil).Parser(grammar, terminal.Stdio{Out: io.Discard, Err: io.Discard}, func(int) {})
	require.NoError(t, err)
	_, err = parser.Parse(append([]string{"verb"}, args...))
	return &grammar.Verb, err
}

// output is what a command has written. Several goroutines may write it, as to a file.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
