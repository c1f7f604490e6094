// Package bench runs programs that time one operation.
package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/schedgen/schedgen/internal/lab/internal/program"
)

// Times are the result of one measurement in microseconds: statistics over its iterations of the
// maximum over ranks.
type Times struct{ Mean, Median, P99 float64 }

// Parse parses a line of schedgen bench --json.
func Parse(line string) (Times, bool) {
	var o struct {
		Mean   *float64 `json:"mean_max_us"`
		Median *float64 `json:"median_max_us"`
		P99    *float64 `json:"p99_max_us"`
	}
	if json.Unmarshal([]byte(line), &o) != nil || o.Mean == nil || o.Median == nil || o.P99 == nil {
		return Times{}, false
	}
	return Times{*o.Mean, *o.Median, *o.P99}, true
}

// capture is a writer that finds the result in the output of a program. It keeps the end of the
// other output, for the error if there is no result.
type capture struct {
	parse  func(string) (Times, bool)
	found  func() // called once, with the result
	line   []byte // beginning of a line that has not ended
	rest   []byte
	result *Times
}

const maxKept = 4096

// Write adds output, in pieces of any length.
func (c *capture) Write(p []byte) (int, error) {
	for part := range bytes.Lines(p) {
		c.line = append(c.line, part...)
		if part[len(part)-1] == '\n' {
			c.endLine()
		}
		if len(c.line) > maxKept {
			c.line = c.line[:0] // no result is that long
		}
	}
	return len(p), nil
}

// endLine takes a whole line.
func (c *capture) endLine() {
	if t, ok := c.parse(strings.TrimSpace(string(c.line))); ok && c.result == nil {
		c.result = &t
		c.found()
	} else {
		c.rest = append(c.rest, c.line...)
		c.rest = c.rest[max(0, len(c.rest)-maxKept):]
	}
	c.line = c.line[:0]
}

// linger is the time that a program may take to end after it has printed its result, and again
// after it was told to end.
const linger = 2 * time.Second

// Run runs a command, with variables added to its environment, until parse finds the result in a line
// of its output, or until the time limit. A program that has printed its result has succeeded, no
// matter how it ends: MPICH over UCX may hang at its end.
func Run(ctx context.Context, args, env []string, limit time.Duration, parse func(line string) (Times, bool)) (Times, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not finished after %v", limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	var timer *time.Timer
	out := &capture{parse: parse, found: func() { timer = time.AfterFunc(linger, cancel) }}
	cmd.Stdout, cmd.Stderr = out, out
	err := program.RunGroup(cmd, linger)
	if timer != nil {
		timer.Stop()
	}
	if out.result != nil {
		return *out.result, nil
	}
	return Times{}, noResult(ctx, err, out)
}

// noResult returns the reason why there is no result.
func noResult(ctx context.Context, err error, out *capture) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		err = errors.New("it printed no result")
	}
	if first := program.FirstLineOf(string(out.rest)); first != "" {
		return fmt.Errorf("%w: %s", err, first)
	}
	return err
}
