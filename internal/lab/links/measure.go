//go:build linux

package links

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/internal/lab/internal/program"
	"github.com/schedgen/schedgen/internal/lab/internal/units"
)

// times are the times of a cell's operations, in seconds. The time of a broadcast runs from the
// root's call until the root knows that all ranks have the message. The time of any other operation
// is the time of the slowest rank's call.
type times struct{ min, median, max float64 }

// linger is the time that a program may take to end after it was told to.
const linger = 5 * time.Second

// measure measures a cell.
func measure(ctx context.Context, programs program.Programs, v *Verb, r *row) (times, error) {
	self, err := os.Executable()
	if err != nil {
		return times{}, err
	}
	rate := ""
	if r.rate > 0 {
		rate = units.Rate(r.rate)
	}
	args := v.Prefixed(self, "netns", "--hosts", strconv.Itoa(r.hosts), "--rate", rate,
		"--burst", strconv.Itoa(burst(r.rate)),
		"--loss", strconv.FormatFloat(float64(r.perMille)/1000, 'f', -1, 64), "--",
		programs.Path(program.Schedgen), "rank", r.collective(), "--coordinator", "10.77.0.1:7777", "--transport", "mcast", "--interface", "eth0",
		"--algorithm", r.algorithm, "--size", fmt.Sprintf("%dB", r.bytes), "--iterations", strconv.Itoa(r.iterations),
		"--timeout", v.Limit.String(), "--json")
	return timesBy(ctx, v.Limit, args, nil, parseTimes)
}

// timesBy runs a program and parses its output. It ends the program if it takes too long.
func timesBy(ctx context.Context, limit time.Duration, args []string, input []byte, parse func([]byte) (times, error)) (times, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not finished after %v", limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &errs
	err := program.RunGroup(cmd, linger)
	switch {
	case ctx.Err() != nil:
		return times{}, context.Cause(ctx)
	case err != nil:
		return times{}, fmt.Errorf("%w: %s", err, program.FirstLineOf(errs.String()+out.String()))
	}
	return parse(out.Bytes())
}

// parseTimes reads the output of schedgen rank --json.
func parseTimes(text []byte) (times, error) {
	type object struct{ Min, Median, Max float64 }
	var o struct {
		Good    bool    `json:"good"`
		Replied *object `json:"replied"` // for broadcasts
		Slowest *object `json:"slowest"`
	}
	switch err := json.Unmarshal(text, &o); {
	case err != nil:
		return times{}, fmt.Errorf("the outcome cannot be read: %w", err)
	case !o.Good:
		return times{}, errors.New("ranks got other bytes than were sent")
	}
	of := cmp.Or(o.Replied, o.Slowest)
	if of == nil || of.Min <= 0 {
		return times{}, errors.New("the outcome has no times")
	}
	return times{of.Min, of.Median, of.Max}, nil
}
