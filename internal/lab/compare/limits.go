package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/schedgen/schedgen/internal/lab/internal/bench"
	"github.com/schedgen/schedgen/internal/lab/internal/program"
	"github.com/schedgen/schedgen/internal/lab/internal/report"
	"github.com/schedgen/schedgen/internal/terminal"
)

// The raw limits are the times of the system without any library, between processes in Go, with
// sockets that block in Go's poller.

// limitVerb is the name of the hidden verb of another rank.
const limitVerb = "compare-limit"

// LimitRank is the hidden verb of a process that acts as another rank.
type LimitRank struct {
	Arguments []string `arg:""`
}

// Run acts as the other rank until the first one has ended.
func (l *LimitRank) Run(std terminal.Stdio) error { return limitChild(l.Arguments, std.Out) }

// limit is a raw limit.
type limit struct {
	wire    string
	name    string
	bytes   int
	ranks   int
	repeats int
	measure func(context.Context, *limit) ([]float64, error) // returns times in microseconds
}

func limits(quick bool) []limit {
	out := []limit{
		{wireTCP, "TCP, 1 byte there and back", 1, 2, 2000, exchangeTCP},
		{wireTCP, "TCP, 16 MiB there and 1 byte back", 16 << 20, 2, 20, exchangeTCP},
		{wireShm, "a barrier of two by a word each way", 0, 2, 1000, exchangeFlags},
	}
	for _, p := range []int{2, 8, 32} {
		if !quick || p < 32 {
			out = append(out, limit{wireTCP, fmt.Sprintf("multicast of 2 B until the last of %d has it", p-1), 2, p, 500, multicast})
		}
	}
	return out
}

// limitTime is the longest time of the measurement of one limit.
const limitTime = 20 * time.Second

func measureLimits(ctx context.Context, v *Verb, stderr io.Writer) []row {
	var rows []row
	for _, l := range limits(v.Quick) {
		r := row{cell: cell{wire: l.wire, op: "limit", ranks: l.ranks, bytes: l.bytes}, side: raw, contender: l.name, iterations: l.repeats}
		for range v.Rounds {
			if ctx.Err() != nil {
				return rows
			}
			times, err := measureLimit(ctx, &l)
			if err != nil {
				r.status = report.OneLine(err)
				break
			}
			r.runs = append(r.runs, timingOf(times))
		}
		fmt.Fprintf(stderr, "%s: %s µs %s\n", l.name, digits(r.mean()), r.status)
		rows = append(rows, r)
	}
	return rows
}

// measureLimit makes one measurement of a limit.
func measureLimit(ctx context.Context, l *limit) ([]float64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limitTime, fmt.Errorf("not finished after %v", limitTime))
	defer cancel()
	times, err := l.measure(ctx, l)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return times, err
}

// timingOf returns the statistics of times in microseconds.
func timingOf(times []float64) bench.Times {
	sorted := slices.Sorted(slices.Values(times))
	sum := 0.0
	for _, t := range sorted {
		sum += t
	}
	return bench.Times{Mean: sum / float64(len(sorted)), Median: sorted[(len(sorted)-1)/2], P99: sorted[(len(sorted)-1)*99/100]}
}

// child is a process of this program that acts as another rank.
type child struct {
	cmd *exec.Cmd
	out io.ReadCloser
}

func startChild(ctx context.Context, args ...string) (*child, error) {
	cmd, err := program.Self(ctx, limitVerb, args...)
	if err != nil {
		return nil, err
	}
	c := &child{cmd: cmd}
	c.cmd.Stderr = os.Stderr
	if c.out, err = c.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return c, c.cmd.Start()
}

// stop ends the child, which has reported its results before.
func (c *child) stop() error {
	_ = c.cmd.Process.Kill() // it may have ended
	var exit *exec.ExitError
	if err := c.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}

func limitChild(args []string, stdout io.Writer) error {
	if len(args) == 3 {
		n, err := strconv.Atoi(args[2])
		switch {
		case err != nil || n < 1:
			return fmt.Errorf("%q is no number", args[2])
		case args[0] == "tcp":
			return serveTCP(args[1], n)
		case args[0] == "flags":
			return serveFlags(args[1], n)
		case args[0] == "multicast":
			return receiveMulticast(args[1], n, stdout)
		}
	}
	return errors.New("this verb is for compare's own use")
}

// exchangeTCP repeatedly sends the bytes and waits for one byte in return.
func exchangeTCP(ctx context.Context, l *limit) (_ []float64, err error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	c, err := startChild(ctx, "tcp", listener.Addr().String(), strconv.Itoa(l.bytes))
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	conn, err := listener.Accept()
	if err := errors.Join(err, listener.Close()); err != nil {
		return nil, err
	}
	defer conn.Close() // all results have been received
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	return exchange(conn, l)
}

func exchange(conn net.Conn, l *limit) ([]float64, error) {
	buf, times := make([]byte, l.bytes), []float64(nil)
	for i := -l.repeats / 10; i < l.repeats; i++ {
		start := time.Now()
		if _, err := conn.Write(buf); err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(conn, buf[:1]); err != nil {
			return nil, err
		}
		if i >= 0 {
			times = append(times, float64(time.Since(start))/1e3)
		}
	}
	return times, nil
}

func serveTCP(address string, bytes int) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close() // the parent has ended it
	buf := make([]byte, bytes)
	for {
		if _, err := io.ReadFull(conn, buf); err != nil {
			return nil // the parent has finished
		}
		if _, err := conn.Write(buf[:1]); err != nil {
			return nil
		}
	}
}
