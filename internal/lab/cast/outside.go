//go:build linux

package cast

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/internal/lab/internal/program"
	"github.com/schedgen/schedgen/internal/terminal"
)

// insideVerb is the name of the hidden verb that makes one measurement, in its own namespaces.
const insideVerb = "cast-inside"

// Inside is the hidden verb.
type Inside struct{}

// Run reads a measurement, makes it, and writes its outcome.
func (Inside) Run(ctx context.Context, std terminal.Stdio) error { return inside(ctx, std.In, std.Out) }

// job is a measurement, as the process inside the namespaces reads it.
type job struct {
	Trial    trial
	Dir      string
	Source   string
	Sum      string // SHA-256 of the file
	Schedgen string
	Store    string
	Budget   time.Duration
}

// around bounds the work before and after a measurement: making a network of 250 hosts, and reading
// their files.
const around = 10 * time.Minute

// measure makes one measurement. It returns errors of this program; the row holds errors of the
// tool.
func (b *built) measure(ctx context.Context, v *Verb, t trial) (_ *row, err error) {
	p, err := b.payload(t.Bytes)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.Dir, "trial-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // Remove tries again
	if err := os.Mkdir(filepath.Join(dir, "hosts"), 0o755); err != nil {
		return nil, err
	}
	row := &row{trial: t, Store: storeFor(t.cell)}
	j := job{t, dir, p.name, p.sum, b.Path(program.Cast), row.Store, cmp.Or(v.Limit, t.budget())}
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	out, err := v.runInside(ctx, j.Budget+around, text)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", t, err)
	}
	if err := json.Unmarshal(out, &row.outcome); err != nil {
		return nil, fmt.Errorf("%v: the outcome cannot be read: %w", t, err)
	}
	return row, nil
}

// runInside runs this program as the first process of its own namespaces. When it ends, the system
// kills all processes that it has started.
func (v *Verb) runInside(ctx context.Context, limit time.Duration, input []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not finished after %v", limit))
	defer cancel()
	// Pdeathsig is sent when the thread that starts the process ends.
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	words := v.Prefixed(self, insideVerb)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		Setsid:     true, // an interrupt from the terminal reaches it through ctx
		Pdeathsig:  syscall.SIGKILL,
	}
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &errs
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), nil
}
