package cli

import (
	"context"
	"io"

	"golang.org/x/term"
)

// stdio is the part of the process that a command uses: the standard streams and the environment.
type stdio struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	work     *work // what a verb computes; nil for other verbs
}

// defaultWidth is the width of a stream that is not a terminal, in columns.
const defaultWidth = 80

// descriptor is a stream that may be a terminal, such as an *os.File.
type descriptor interface{ Fd() uintptr }

// width returns the number of columns of the standard output.
func (s stdio) width() int { return widthOf(s.Out) }

// widthOf returns the number of columns of a stream.
func widthOf(stream any) int {
	if f, ok := stream.(descriptor); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return defaultWidth
}

// color reports whether the standard output should be coloured.
func (s stdio) color() bool {
	return isTerminal(s.Out) && s.Getenv("NO_COLOR") == "" && s.Getenv("TERM") != "dumb"
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(descriptor)
	return ok && term.IsTerminal(int(f.Fd()))
}

// untilEOF returns io.EOF for ever after the first one. A terminal can be read on after Ctrl-D, and
// a buffer that met the end while it looked ahead would read it again.
type untilEOF struct {
	r     io.Reader
	ended bool
}

func (u *untilEOF) Read(p []byte) (int, error) {
	if u.ended {
		return 0, io.EOF
	}
	n, err := u.r.Read(p)
	u.ended = err == io.EOF
	return n, err
}

// await returns the results of f, or the context's error as soon as the context is done. In that
// case f keeps running, because the process is about to end.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
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

// ctxWriter fails once its context is done.
type ctxWriter struct {
	ctx context.Context
	w   io.Writer
}

func (c ctxWriter) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.w.Write(p)
}
