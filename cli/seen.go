package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/runtime/perfetto"
	"github.com/schedgen/schedgen/runtime/status"
)

// seenFlags are the flags for watching a run.
type seenFlags struct {
	pageFlags
	Trace string `placeholder:"FILE" complete:"file" help:"Write a trace of all operations to FILE, for ui.perfetto.dev."`
}

// pageFlags are the flags for a status page.
type pageFlags struct {
	Status *string  `placeholder:"ADDR" help:"Serve a page that shows what each rank does, and /status.json, /metrics and /healthz. ADDR is HOST:PORT, or :PORT for the loopback address."`
	Hosts  []string `name:"status-host" placeholder:"NAME" help:"Also show the page to requests for this host name, such as that of a service; may be repeated."`
}

// check returns an error if there are names for a page, and no page.
func (f *pageFlags) check() error {
	if f.Status == nil && len(f.Hosts) > 0 {
		return errors.New("--status-host: needs --status")
	}
	return nil
}

// serve serves h at the address of --status, which must be given, until the result is closed.
func (f *pageFlags) serve(ctx context.Context, h http.Handler) (*status.Server, error) {
	s, err := status.Serve(ctx, *f.Status, h, f.Hosts...)
	if err != nil {
		return nil, fmt.Errorf("--status=%s: %w", *f.Status, err)
	}
	return s, nil
}

// tellPage prints the address of the page.
func tellPage(s terminal.Stdio, at string) {
	fmt.Fprintf(s.Err, "schedgen: status at http://%s/\n", at)
}

// traceFile is the file of --trace, to which ranks append. It is nil without --trace.
type traceFile struct{ *os.File }

// openTrace creates the file and begins the trace. It returns nil without --trace.
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

// close ends the trace. It works even if ranks have died.
func (t *traceFile) close() error {
	if t == nil {
		return nil
	}
	if err := errors.Join(perfetto.End(t), t.Close()); err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	return nil
}

// file returns the file that ranks append to, or nil if there is none.
func (t *traceFile) file() *os.File {
	if t == nil {
		return nil
	}
	return t.File
}
