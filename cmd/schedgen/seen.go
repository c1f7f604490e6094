package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/schedgen/schedgen/runtime/perfetto"
	"github.com/schedgen/schedgen/runtime/status"
)

// seenFlags are the flags of how a run is looked at.
type seenFlags struct {
	Status *string `placeholder:"ADDR" help:"Show where all ranks stand at ADDR, which is HOST:PORT, or :PORT of the loopback address: a page, /status.json and /metrics."`
	Trace  string  `placeholder:"FILE" complete:"file" help:"Write what operations do to FILE, which ui.perfetto.dev opens."`
}

// serve serves h at --status, which is given, until the result is closed.
func (f *seenFlags) serve(ctx context.Context, h http.Handler) (*status.Server, error) {
	s, err := status.Serve(ctx, *f.Status, h)
	if err != nil {
		return nil, fmt.Errorf("--status=%s: %w", *f.Status, err)
	}
	return s, nil
}

// tellPage says where the page is.
func (s stdio) tellPage(at string) { fmt.Fprintf(s.Err, "schedgen: status at http://%s/\n", at) }

// traceFile is the file of --trace. Ranks append to it; nil: there is none.
type traceFile struct{ *os.File }

// openTrace makes the file and begins the trace.
func (f *seenFlags) openTrace() (*traceFile, error) {
	if f.Trace == "" {
		return nil, nil
	}
	file, err := os.OpenFile(f.Trace, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o666)
	if err != nil {
		return nil, fmt.Errorf("--trace: %w", err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("must be a regular file: ranks append to it")
	}
	if err == nil {
		err = perfetto.Begin(file)
	}
	if err != nil {
		return nil, fmt.Errorf("--trace=%s: %w", f.Trace, errors.Join(err, file.Close()))
	}
	return &traceFile{file}, nil
}

// close ends the trace, whatever has become of the ranks.
func (t *traceFile) close() error {
	if t == nil {
		return nil
	}
	if err := errors.Join(perfetto.End(t), t.Close()); err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	return nil
}

// file returns the file that ranks append to, nil if there is none.
func (t *traceFile) file() *os.File {
	if t == nil {
		return nil
	}
	return t.File
}
