// Package source finds the schedule that a command line names: an algorithm with its parameters, or a
// file in a form of ours or of another program.
package source

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// MaxSize is the largest number of rules, and of actions, of a schedule that is built: about four
// gigabytes.
const MaxSize = 1 << 25

// far is a number of rules, or of actions, that is far beyond MaxSize.
const far = 4 * MaxSize

// Args name a schedule: an algorithm and its parameters, or a file.
type Args struct {
	Source string `arg:"" name:"algorithm|file" complete:"algorithm,file" help:"Name of an algorithm, or a file that holds a schedule (- for standard input)."`
	Ranks  *Ranks `short:"p" placeholder:"P" help:"Number of ranks; needed with an algorithm."`
	Flags
}

// Load returns the one schedule that the arguments name.
func (a *Args) Load(ctx context.Context, std terminal.Stdio) (*ir.Schedule, error) {
	if a.IsFile() {
		in, err := terminal.Await(ctx, func() (io.ReadCloser, error) { return a.Open(std) })
		if err != nil {
			return nil, err
		}
		defer in.Close() // read only: nothing to lose
		std.Does("reading " + a.Source)
		return a.Read(ctx, in)
	}
	spec, err := a.Spec(std)
	if err != nil {
		return nil, err
	}
	std.Does("building " + a.Source)
	return terminal.Await(ctx, func() (*ir.Schedule, error) { return spec.Schedule(), nil })
}

// OwnRoot says that a schedule of a file can have no other root than its own.
func OwnRoot(file string, h *ir.Header) string {
	if word := h.RootWord(); word != "" {
		return fmt.Sprintf("%s has its own %s", file, word)
	}
	return file + " has no root"
}

// Spec returns the algorithm that the arguments name.
func (a *Args) Spec(std terminal.Stdio) (*schedule.Spec, error) {
	a.DropIdle(std)
	p, err := a.Params(a.Source)
	if err != nil {
		return nil, err
	}
	if a.Ranks == nil {
		return nil, fmt.Errorf("--ranks: needed for %s, such as -p 8", a.Source)
	}
	if p.Ranks, err = a.Ranks.One(); err != nil {
		return nil, err
	}
	return New(a.Source, p)
}

// DropIdle removes the flags that have no effect on the algorithm.
func (a *Args) DropIdle(std terminal.Stdio) {
	if alg, err := Named(a.Source); err == nil {
		a.Flags.DropIdle(alg.Collective, std)
	}
}

// New returns the algorithm with its parameters. It checks the parameters and the size of the
// schedule.
func New(name string, p schedule.Params) (*schedule.Spec, error) {
	spec, err := schedule.New(name, p)
	if err != nil {
		return nil, FlagError(err)
	}
	full := spec.Params()
	slots := int64(full.Ranks) * int64(full.Chunks)
	rules, actions := spec.SizeAbout(far) // counting beyond MaxSize may take seconds
	if max(rules, actions) <= far {
		rules, actions = spec.SizeUpTo(MaxSize)
	}
	if max(rules, actions, slots/2) > MaxSize {
		return nil, fmt.Errorf("--ranks=%d: %s with %d chunks has more than %d rules or transfers; at most so many are built",
			full.Ranks, name, full.Chunks, MaxSize)
	}
	return spec, nil
}

// IsFile reports whether the source is a file: it is not the name of an algorithm, and it exists or
// has the name of a file.
func (a *Args) IsFile() bool {
	named := func(alg schedule.Algorithm) bool { return alg.Name == a.Source }
	if slices.ContainsFunc(schedule.Algorithms(), named) {
		return false
	}
	switch filepath.Ext(a.Source) {
	case ".json", ".txt", ".goal", ".xml", ".et":
		return true
	}
	if a.Source == "-" || isTracePrefix(a.Source) {
		return true
	}
	_, err := os.Stat(a.Source)
	return err == nil && !a.meansAlgorithm()
}

// meansAlgorithm reports whether the source is the name of a directory, such as bcast, but was
// probably meant to be an algorithm: there are algorithms with similar names.
func (a *Args) meansAlgorithm() bool {
	info, err := os.Stat(a.Source)
	var name *schedule.NameError
	_, noSuch := schedule.New(a.Source, schedule.Params{Ranks: 1})
	return err == nil && info.IsDir() && errors.As(noSuch, &name) && len(name.Near) > 0
}

// Open opens the file that the source names. It may block on a pipe.
func (a *Args) Open(std terminal.Stdio) (io.ReadCloser, error) {
	if a.Source == "-" {
		if terminal.IsTerminal(std.In) {
			std.Note("reading a schedule from the terminal; Ctrl-D ends it")
		}
		return io.NopCloser(&terminal.UntilEOF{Reader: std.In}), nil
	}
	if form := a.writtenOnly(); form != "" {
		return nil, fmt.Errorf("%s: format %s cannot be read back; text and json can", a.Source, form)
	}
	info, err := os.Stat(a.Source)
	switch isFile := err == nil && !info.IsDir(); {
	case !isFile && isTracePrefix(a.Source):
		return os.Open(TraceName(TracePrefix(a.Source), 0))
	case !isFile && err == nil:
		return nil, fmt.Errorf("%s is a directory, not a file with a schedule", a.Source)
	}
	return os.Open(a.Source)
}

// writtenOnly returns the format that the file's name tells, if schedgen writes that format but
// does not read it, and "" otherwise.
func (a *Args) writtenOnly() string {
	extension := strings.TrimPrefix(filepath.Ext(a.Source), ".")
	for _, f := range emit.Formats() {
		if f.Extension == extension && !slices.Contains([]string{"text", "json", "goal", "msccl", "chakra"}, f.Name) {
			return f.Name
		}
	}
	return ""
}

// Read reads the schedule of a file. The file holds its parameters, so flags for them are an error.
func (a *Args) Read(ctx context.Context, in io.Reader) (*ir.Schedule, error) {
	name := a.Source
	if name == "-" {
		name = "standard input"
	}
	if a.Ranks != nil {
		return nil, fmt.Errorf("--ranks: %s has its own", a.Source)
	}
	if flags := a.List(); len(flags) > 0 {
		return nil, fmt.Errorf("--%s: %s has its own parameters", flags[0].Name, a.Source)
	}
	return terminal.Await(ctx, func() (*ir.Schedule, error) { return parse(in, name) })
}

// parse reads a schedule. Its first bytes tell the form.
func parse(r io.Reader, name string) (*ir.Schedule, error) {
	buf := bufio.NewReader(r)
	switch form, err := sniff(name, buf); {
	case err != nil:
		return nil, err
	case form != nil:
		return nil, fmt.Errorf("%s: this is %s; only schedgen verify, sim, emit and cost --network read it", name, form.Name)
	}
	read := ir.ParseText
	if looksLikeJSON(buf) {
		read = ir.ParseJSON
	}
	s, err := read(buf)
	if err != nil {
		return nil, Placed(name, err)
	}
	return s, nil
}

// reason returns the text of the error without its line.
func reason(e *ir.ParseError) string {
	if e.Path != "" {
		return e.Path + ": " + e.Msg
	}
	return e.Msg
}

func looksLikeJSON(r *bufio.Reader) bool {
	const blanks = 64 // before the first brace
	head, err := r.Peek(1)
	for n := 2; err == nil && n <= blanks && strings.IndexByte(" \t\r\n", head[len(head)-1]) >= 0; n++ {
		head, err = r.Peek(n)
	}
	return len(head) > 0 && (head[len(head)-1] == '{' || head[len(head)-1] == '[')
}
