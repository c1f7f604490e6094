//go:build linux

package main

import (
	"bytes"
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
)

// insideVerb has this program make one measurement, in namespaces of its own.
const insideVerb = "inside"

// job is a measurement, as it is handed inside.
type job struct {
	Trial    trial
	Dir      string
	Source   string
	Sum      string // of what is sent
	Schedgen string
	Store    string
	Budget   time.Duration
	Nice     int
}

// around bounds what there is before and behind a measurement: to make a network of
// 250 hosts, and to read what they have got.
const around = 10 * time.Minute

// measure makes one measurement. An error is of this program; what is wrong with a
// tool stands in the row.
func (b *built) measure(ctx context.Context, o *options, t trial) (_ *row, err error) {
	p, err := b.payload(t.Bytes)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.dir, "trial-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // b.remove has another go
	if err := os.Mkdir(filepath.Join(dir, "hosts"), 0o755); err != nil {
		return nil, err
	}
	row := &row{trial: t, Store: storeFor(t.cell)}
	j := job{t, dir, p.name, p.sum, b.schedgen, row.Store, o.budgetOf(t.cell), o.nice}
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	out, err := runInside(ctx, j.Budget+around, text)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", t, err)
	}
	if err := json.Unmarshal(out, &row.outcome); err != nil {
		return nil, fmt.Errorf("%v: the outcome cannot be read: %w", t, err)
	}
	return row, nil
}

// runInside runs this program as the first process of namespaces of its own: whatever it
// has started is killed by the system when it ends, however it ends.
func runInside(ctx context.Context, limit time.Duration, input []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not finished after %v", limit))
	defer cancel()
	// The signal at this process's death is that at the death of the thread that starts the other.
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", insideVerb)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		Setsid:     true, // an interrupt from the terminal comes by way of ctx
		Pdeathsig:  syscall.SIGKILL,
	}
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &errs
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), nil
}
