// Package terminal is how a command talks to people and to the shell that started it: standard
// streams, progress, errors, exit codes and output files. It does not know how command lines are
// parsed.
package terminal

import (
	"context"
	"io"

	"golang.org/x/term"
)

// Stdio is the part of the process that a command uses: the standard streams and the environment.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Program  string // name of the command in messages
	work     *work  // what a verb computes; nil for other verbs
}

// DefaultWidth is the width of a stream that is not a terminal, in columns.
const DefaultWidth = 80

// descriptor is a stream that may be a terminal, such as an *os.File.
type descriptor interface{ Fd() uintptr }

// Width returns the number of columns of the standard output.
func (s Stdio) Width() int { return WidthOf(s.Out) }

// WidthOf returns the number of columns of a stream.
func WidthOf(stream any) int {
	if f, ok := stream.(descriptor); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return DefaultWidth
}

// Color reports whether the standard output should be coloured.
func (s Stdio) Color() bool {
	return IsTerminal(s.Out) && s.Getenv("NO_COLOR") == "" && s.Getenv("TERM") != "dumb"
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(descriptor)
	return ok && term.IsTerminal(int(f.Fd()))
}

// UntilEOF returns io.EOF for ever after the first one. A terminal can be read on after Ctrl-D, and
// a buffer that met the end while it looked ahead would read it again.
type UntilEOF struct {
	Reader io.Reader
	ended  bool
}

func (u *UntilEOF) Read(p []byte) (int, error) {
	if u.ended {
		return 0, io.EOF
	}
	n, err := u.Reader.Read(p)
	u.ended = err == io.EOF
	return n, err
}

// Await returns the results of f, or the context's error as soon as the context is done. In that
// case f keeps running, because the process is about to end.
func Await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := f()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
}

// Writer fails once its context is done.
type Writer struct {
	ctx context.Context
	w   io.Writer
}

// NewWriter returns a Writer that writes to w until ctx is done.
func NewWriter(ctx context.Context, w io.Writer) Writer { return Writer{ctx, w} }

func (c Writer) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.w.Write(p)
}
