//go:build linux

// Package exact is the verb exact of schedlab.
package exact

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/internal/lab/internal/options"
	"github.com/schedgen/schedgen/internal/terminal"
)

// Verb measures exact sums.
type Verb struct {
	options.RoundsFlag `embed:"" set:"rounds=30"`
	Interface          string `default:"eth0" placeholder:"NAME" complete:"interface" help:"Network interface whose bytes are counted; default eth0."`
}

// Help is the long help text.
func (Verb) Help() string {
	return `Measures what exact sums cost on links, beside rounded ones: the bytes that leave a rank, and the
time. It is one rank of a job: start one on each of some hosts, as the example does.

The interface counts the bytes, with all headers and acknowledgements. The bytes of as many barriers
are subtracted. Times are medians. The calls take turns in a random order, and a barrier runs before
and after each.

Example:

  schedlab netns --hosts 4 --rate 100mbit -- \
    env SCHEDGEN_COORDINATOR=10.77.0.1:7777 schedlab exact
  schedlab exact --rounds 10`
}

// Run measures, and prints the table at rank 0.
func (v *Verb) Run(ctx context.Context, std terminal.Stdio) error {
	if err := v.CheckRounds(1); err != nil {
		return err
	}
	return run(ctx, std.Out, v.Rounds, v.Interface)
}

// operation is one call. An exact call follows the rounded call with which it is compared.
type operation struct {
	name  string
	call  func(ctx context.Context) error
	bytes float64 // bytes that leave a rank, averaged over all ranks
	times []time.Duration
}

func (o *operation) median() time.Duration {
	slices.Sort(o.times)
	return o.times[len(o.times)/2]
}

// operations returns the calls to measure. The first does nothing.
func operations(comm *schedgen.Comm) []*operation {
	all := []*operation{{name: "none", call: func(context.Context) error { return nil }}}
	add := func(name string, call func(ctx context.Context) error) {
		all = append(all, &operation{name: name, call: call})
	}
	one := []float64{1}
	add("Allreduce of 1", func(ctx context.Context) error { return schedgen.Allreduce(ctx, comm, one, schedgen.Sum) })
	add("ExactSum of 1", func(ctx context.Context) error { _, err := schedgen.ExactSum(ctx, comm, one); return err })
	for _, n := range []int{100, 1 << 10, 1 << 17} {
		buf := make([]float64, n)
		r := rand.New(rand.NewPCG(1, uint64(comm.Rank())))
		fill := func() {
			for i := range buf {
				buf[i] = r.NormFloat64()
			}
		}
		add(fmt.Sprint("Allreduce of ", n), func(ctx context.Context) error {
			fill()
			return schedgen.Allreduce(ctx, comm, buf, schedgen.Sum)
		})
		add(fmt.Sprint("AllreduceExact of ", n), func(ctx context.Context) error {
			fill()
			return schedgen.AllreduceExact(ctx, comm, buf)
		})
	}
	return all
}

func run(ctx context.Context, out io.Writer, rounds int, link string) error {
	comm, err := schedgen.Init(ctx)
	if err != nil {
		return err
	}
	defer comm.Close()
	all := operations(comm)
	for _, o := range all {
		if o.bytes, err = bytesOf(ctx, comm, o, rounds, link); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
	}
	order := rand.New(rand.NewPCG(2, 3)) // the same at all ranks
	for range rounds {
		for _, i := range order.Perm(len(all)) {
			took, err := timeOf(ctx, comm, all[i])
			if err != nil {
				return fmt.Errorf("%s: %w", all[i].name, err)
			}
			all[i].times = append(all[i].times, took)
		}
	}
	if comm.Rank() == 0 {
		write(out, all, comm.Size())
	}
	return schedgen.Barrier(ctx, comm)
}

// bytesOf returns how many bytes leave a rank for one call, on average.
func bytesOf(ctx context.Context, comm *schedgen.Comm, o *operation, rounds int, link string) (float64, error) {
	if _, err := timeOf(ctx, comm, o); err != nil { // connections are made
		return 0, err
	}
	before, err := sent(link)
	if err != nil {
		return 0, err
	}
	for range rounds {
		if _, err := timeOf(ctx, comm, o); err != nil {
			return 0, err
		}
	}
	after, err := sent(link)
	if err != nil {
		return 0, err
	}
	total := []float64{after - before}
	if err := schedgen.Allreduce(ctx, comm, total, schedgen.Sum); err != nil {
		return 0, err
	}
	return total[0] / float64(rounds*comm.Size()), nil
}

// timeOf calls o between two barriers, and returns the time of the call and the second barrier.
func timeOf(ctx context.Context, comm *schedgen.Comm, o *operation) (time.Duration, error) {
	if err := schedgen.Barrier(ctx, comm); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := o.call(ctx); err != nil {
		return 0, err
	}
	err := schedgen.Barrier(ctx, comm)
	return time.Since(start), err
}

// sent returns how many bytes an interface has sent.
func sent(link string) (float64, error) {
	const path, column = "/proc/net/dev", 8
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, numbers, found := strings.Cut(lines.Text(), ":")
		if fields := strings.Fields(numbers); found && strings.TrimSpace(name) == link && len(fields) > column {
			return strconv.ParseFloat(fields[column], 64)
		}
	}
	return 0, fmt.Errorf("%s has no interface %s", path, link)
}

// write writes a table of the measurements.
func write(out io.Writer, all []*operation, ranks int) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintf(w, "%d ranks\tbytes sent by a rank\tof the rounded\ttime, of the rounded\n", ranks)
	none := all[0]
	for i, o := range all[1:] {
		if i%2 == 0 {
			fmt.Fprintf(w, "%s\t%.0f\t\t\n", o.name, o.bytes-none.bytes)
			continue
		}
		rounded := all[i]
		fmt.Fprintf(w, "%s\t%.0f\t%.2f\t%.2f\n", o.name, o.bytes-none.bytes, (o.bytes-none.bytes)/(rounded.bytes-none.bytes), float64(o.median())/float64(rounded.median()))
	}
}
