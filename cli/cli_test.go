package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/version"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// invoke runs a command line in this process.
func invoke(ctx context.Context, in io.Reader, args ...string) (code int, stdout, stderr string) {
	return runHere(ctx, args, in, func(string) string { return "" })
}

// runHere runs a command line in this process, with an input and an environment.
func runHere(ctx context.Context, args []string, in io.Reader, getenv func(string) string) (code int, stdout, stderr string) {
	var out, err output
	code = schedgen.Run(ctx, args, terminal.Stdio{In: in, Out: &out, Err: &err, Getenv: getenv})
	return code, out.String(), err.String()
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

func TestInterruptWhileReading(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, w := io.Pipe() // nobody ever writes
	defer w.Close()
	read := make(chan struct{})
	go func() {
		<-read
		cancel()
	}()
	tell := sync.OnceFunc(func() { close(read) })
	code, stdout, stderr := invoke(ctx, signalling{in, tell}, "verify", "-")
	require.Equal(t, terminal.Interrupted, code)
	require.Empty(t, stdout)
	require.Equal(t, "schedgen: interrupted\n", stderr)
}

// TestNamedPipeIsReadOnce reads a schedule from a pipe, as "schedgen verify <(schedgen emit …)" in
// a shell does. The bytes that tell the form cannot be read again.
func TestNamedPipeIsReadOnce(t *testing.T) {
	for _, format := range []string{"json", "text", "goal"} {
		pipe := filepath.Join(t.TempDir(), "pipe")
		require.NoError(t, syscall.Mkfifo(pipe, 0o600))
		code, schedule, stderr := invoke(t.Context(), nil, "emit", "bcast/chain", "-p", "20", "--format", format)
		require.Zero(t, code, stderr)
		wrote := make(chan error, 1)
		go func() { wrote <- os.WriteFile(pipe, []byte(schedule), 0) }()
		args := []string{"verify", pipe}
		if format == "goal" {
			args = append(args, "--as", "bcast")
		}
		code, stdout, stderr := invoke(t.Context(), nil, args...)
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, "verified\n")
		require.NoError(t, <-wrote)
	}
}

// signalling is a reader that calls tell when it is first read.
type signalling struct {
	io.Reader
	tell func()
}

func (s signalling) Read(p []byte) (int, error) {
	s.tell()
	return s.Reader.Read(p)
}

func TestInterruptWhilePrinting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var stderr bytes.Buffer
	out := writeFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	code := schedgen.Run(ctx, []string{"verify", "bcast/chain", "-p", "1..100000"},
		terminal.Stdio{Out: out, Err: &stderr, Getenv: os.Getenv})
	require.Equal(t, terminal.Interrupted, code)
	require.Equal(t, "schedgen: interrupted\n", stderr.String())
}

type writeFunc func([]byte) (int, error)

func (f writeFunc) Write(p []byte) (int, error) { return f(p) }

func TestOutputThatCannotBeWritten(t *testing.T) {
	full := writeFunc(func([]byte) (int, error) { return 0, errors.New("disk full") })
	for _, args := range [][]string{
		{"list"}, {"list", "--json"}, {"show", "bcast/chain", "-p", "4"}, {"show", "bcast/chain", "-p", "4", "--rank", "1"},
		{"emit", "bcast/chain", "-p", "4"}, {"emit", "bcast/chain", "-p", "4", "-f", "dot"},
		{"verify", "bcast/chain", "-p", "4"}, {"verify", "bcast/chain", "-p", "1..4"}, {"verify", "bcast/chain", "-p", "4", "--json"},
		{"cost", "bcast/chain", "-p", "4"}, {"cost", "bcast/chain", "-p", "4", "--json"}, {"cost", "bcast/chain", "-p", "4", "--per-rank"},
	} {
		var stderr bytes.Buffer
		code := schedgen.Run(t.Context(), args, terminal.Stdio{Out: full, Err: &stderr, Getenv: os.Getenv})
		require.Equal(t, terminal.Bad, code, args)
		require.Contains(t, stderr.String(), "disk full", args)
	}
}

// TestEmittedFilesVerify writes every algorithm to a file and verifies the file. Heavy tests use
// both forms for each algorithm; others use the forms in turn.
func TestEmittedFilesVerify(t *testing.T) {
	formats := []string{"text", "json"}
	for i, a := range schedule.Algorithms() {
		for _, format := range heavy.Or(formats[i%2:i%2+1], formats) {
			file := filepath.Join(t.TempDir(), "schedule") // the form is told by the first byte
			code, _, stderr := invoke(t.Context(), nil, "emit", a.Name, "-p", "7", "--format", format, "-o", file)
			require.Zero(t, code, stderr)
			code, stdout, stderr := invoke(t.Context(), nil, "verify", file)
			require.Zero(t, code, "%s: %s%s", a.Name, stdout, stderr)
			require.Contains(t, stdout, "\nverified\n")
			require.Contains(t, stdout, a.Name+" ranks=7 ")
		}
	}
}

// TestEveryParameterHasAFlag sets each parameter that an algorithm takes.
func TestEveryParameterHasAFlag(t *testing.T) {
	for _, a := range schedule.Algorithms() {
		args := []string{"emit", a.Name, "-p", "9", "--format", "json"}
		for _, p := range a.Params {
			args = append(args, "--"+p, "3")
		}
		code, stdout, stderr := invoke(t.Context(), nil, args...)
		require.Zero(t, code, "%s: %s", a.Name, stderr)
		for _, p := range a.Params {
			value := 3
			if row := a.Row(); p == "chunks" {
				value *= row.Blocks(9)
			}
			require.Contains(t, stdout, fmt.Sprintf("%q:%d", strings.Replace(p, "origin", "root", 1), value), a.Name)
		}
	}
}

func TestFailedWriteLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "out")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o640))
	cause := errors.New("no more")
	err := terminal.WriteFile("output", file, func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Repeat("new", 10_000))
		return errors.Join(err, cause)
	})
	require.ErrorIs(t, err, cause)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	old, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "old", string(old))
}

func TestReplacedFileKeepsItsMode(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	require.NoError(t, os.Chmod(file, 0o604))
	require.NoError(t, terminal.WriteFile("output", file, func(w io.Writer) error { return emit.Write(w, "text", tiny(t), emit.Options{}) }))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o604), info.Mode())
}

func tiny(t *testing.T) *ir.Schedule {
	t.Helper()
	spec, err := schedule.New("bcast/chain", schedule.Params{Ranks: 2})
	require.NoError(t, err)
	return spec.Schedule()
}

// TestColorOnlyOnTerminals checks that a regular file and a buffer are not coloured.
func TestColorOnlyOnTerminals(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer f.Close()
	require.False(t, terminal.Stdio{Out: f, Getenv: os.Getenv}.Color())
	require.False(t, terminal.Stdio{Out: &bytes.Buffer{}, Getenv: os.Getenv}.Color())
	require.Equal(t, terminal.DefaultWidth, terminal.Stdio{Out: f, Getenv: os.Getenv}.Width())
}

func TestVersionLine(t *testing.T) {
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{
			{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "44a3140"},
			{Key: "vcs.time", Value: "2026-11-21T10:46:48Z"}, {Key: "vcs.modified", Value: modified},
		}
	}
	for _, c := range []struct {
		what, version string
		settings      []debug.BuildSetting
		want          string
	}{
		{"go install …@v1.2.3", "v1.2.3", nil, "schedgen v1.2.3, go1.26.8"},
		{"go build at a tag", "v1.2.3", vcs("false"), "schedgen v1.2.3, revision 44a3140, 2026-11-21T10:46:48Z, go1.26.8"},
		{"go build between tags", "v0.0.0-20261121104648-44a314083b9d+dirty", vcs("true"),
			"schedgen v0.0.0-20261121104648-44a314083b9d+dirty, revision 44a3140, 2026-11-21T10:46:48Z, modified, go1.26.8"},
		{"a build that knows its revision alone", "(devel)", vcs("false"), "schedgen revision 44a3140, 2026-11-21T10:46:48Z, go1.26.8"},
		{"the same without the time", "", vcs("true")[:2], "schedgen revision 44a3140, go1.26.8"},
		{"go run", "(devel)", nil, "schedgen (devel), go1.26.8"},
		{"no module", "", nil, "schedgen (devel), go1.26.8"},
	} {
		info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: c.version}, Settings: c.settings}
		require.Equal(t, c.want, version.Line("schedgen", info), c.what)
	}
	require.Equal(t, "schedgen (devel)", version.Line("schedgen", &debug.BuildInfo{}))
}

func TestRangeOfRanks(t *testing.T) {
	for text, want := range map[string]source.Ranks{"8": {Lo: 8, Hi: 8}, "1..64": {Lo: 1, Hi: 64}, "7..7": {Lo: 7, Hi: 7}} {
		var got source.Ranks
		require.NoError(t, got.UnmarshalText([]byte(text)), text)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "..", "1..", "..4", "0", "-1", "0..4", "4..1", "1...4", "1..2..3", "1-4", "x", "99999999999999999999"} {
		require.Error(t, new(source.Ranks).UnmarshalText([]byte(text)), text)
	}
}

func TestJobsCountWhatTheyYield(t *testing.T) {
	for _, j := range []*jobs{
		{file: tiny(t)},
		{name: "bcast/chain", ranks: source.Ranks{Lo: 3, Hi: 3}},
		{name: "bcast/chain", ranks: source.Ranks{Lo: 2, Hi: 9}},
		{name: "bcast/chain", ranks: source.Ranks{Lo: 2, Hi: 9}, allRoots: true},
		{name: "anycast/circulant", ranks: source.Ranks{Lo: 1, Hi: 1}, allRoots: true},
		{name: "allgather/ring", ranks: source.Ranks{Lo: 1, Hi: 9}},
	} {
		n := 0
		seen := map[[2]int]bool{}
		for prove := range j.all(func(string) {}, nil) {
			report, err := prove()
			require.NoError(t, err)
			h := report.Header
			require.False(t, seen[[2]int{h.Ranks, h.Root}])
			seen[[2]int{h.Ranks, h.Root}] = true
			n++
		}
		require.Equal(t, n, j.len())
	}
}

// The verbs about schedules compute, so all of them show their work and end when interrupted.
func TestVerbsThatCompute(t *testing.T) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[cli]()) {
		if f.Tag.Get("group") == "schedules" {
			_, computes := f.Tag.Lookup("computes")
			require.True(t, computes, f.Name)
		}
	}
}
