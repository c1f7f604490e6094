package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// timing is one measurement, in microseconds, over its iterations, of the
// maximum over ranks.
type timing struct{ mean, median, p99 float64 }

// parseOurs reads a line of schedgen bench --json.
func parseOurs(line string) (timing, bool) {
	var o struct {
		Mean   *float64 `json:"mean_max_us"`
		Median *float64 `json:"median_max_us"`
		P99    *float64 `json:"p99_max_us"`
	}
	if json.Unmarshal([]byte(line), &o) != nil || o.Mean == nil || o.Median == nil || o.P99 == nil {
		return timing{}, false
	}
	return timing{*o.Mean, *o.Median, *o.P99}, true
}

// parsePeer reads the line of the micro-benchmark.
func parsePeer(line string) (timing, bool) {
	var t timing
	n, err := fmt.Sscanf(line, "micro %g %g %g", &t.mean, &t.median, &t.p99)
	return t, err == nil && n == 3
}

// capture keeps the result of what a program prints, and the end of the rest
// in case there is none.
type capture struct {
	parse  func(string) (timing, bool)
	found  func() // called once, with the result
	line   []byte // not ended yet
	rest   []byte
	result *timing
}

const maxKept = 4096

// Write takes output in any pieces.
func (c *capture) Write(p []byte) (int, error) {
	for part := range bytes.Lines(p) {
		c.line = append(c.line, part...)
		if part[len(part)-1] == '\n' {
			c.end()
		}
		if len(c.line) > maxKept {
			c.line = c.line[:0] // no result is that long
		}
	}
	return len(p), nil
}

func (c *capture) end() {
	if t, ok := c.parse(strings.TrimSpace(string(c.line))); ok && c.result == nil {
		c.result = &t
		c.found()
	} else {
		c.rest = append(c.rest, c.line...)
		c.rest = c.rest[max(0, len(c.rest)-maxKept):]
	}
	c.line = c.line[:0]
}

// linger is how long a program may take to end once it has told its result;
// and then once it has been told to.
const linger = 2 * time.Second

// measure runs a contender once. A program that has told its result has done
// its work, however it ends: MPICH over UCX may hang in its last moments.
func measure(ctx context.Context, c *contender, iterations int, limit time.Duration) (timing, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not finished after %v", limit))
	defer cancel()
	args := c.command(iterations, limit)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), c.env...)
	// All that it starts is in a group of its own, so that all can be ended.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = linger
	var timer *time.Timer
	out := &capture{parse: c.parse, found: func() { timer = time.AfterFunc(linger, cancel) }}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	if timer != nil {
		timer.Stop()
	}
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // whoever is left; mostly nobody
	}
	if out.result != nil {
		return *out.result, nil
	}
	return timing{}, failed(ctx, err, out)
}

// failed says why there is no result.
func failed(ctx context.Context, err error, out *capture) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		err = errors.New("it printed no result")
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out.rest)), "\n")
	if first == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, first)
}
