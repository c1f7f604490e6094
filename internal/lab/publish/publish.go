//go:build linux

// Package publish is the verb publish of schedlab.
package publish

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/internal/lab/internal/options"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/schedule"
)

// Verb measures rootless messages.
type Verb struct {
	options.RoundsFlag `embed:"" set:"rounds=5"`
	Part               int `default:"1" placeholder:"N" help:"Divide the numbers of messages by this."`
}

// Help is the long help text.
func (Verb) Help() string {
	return `Measures rootless messages by each algorithm of anycast: how long a message takes to the last rank,
and how many messages arrive in a second if one rank, or all ranks, publish as fast as they can. It is
one rank of a job: start one on each of some hosts, as the example does.

Rank 0 prints the medians of some rounds. In each round all algorithms are measured in turn, each with
a communicator of its own. A time runs from a barrier until the last rank has the last message.

Example:

  schedlab netns --hosts 15 --rate 100mbit -- \
    env SCHEDGEN_COORDINATOR=10.77.0.1:7777 SCHEDGEN_TRANSPORT=mcast \
    SCHEDGEN_INTERFACE=eth0 schedlab publish
  schedlab publish --part 100`
}

// Run measures, and prints the table at rank 0.
func (v *Verb) Run(ctx context.Context, std terminal.Stdio) error {
	if v.Part < 1 {
		return fmt.Errorf("--part=%d: must be at least 1", v.Part)
	}
	if err := v.CheckRounds(1); err != nil {
		return err
	}
	return run(ctx, std, v.Rounds, v.Part)
}

// cell is one measurement: each publisher publishes messages of the given length.
type cell struct {
	bytes    int
	all      bool // every rank publishes, not only rank 0
	messages int
}

var cells = []cell{
	{2, false, 1}, {1 << 10, false, 1}, {64 << 10, false, 1},
	{2, false, 2000}, {1 << 10, false, 1000}, {64 << 10, false, 40},
	{2, true, 200}, {1 << 10, true, 100}, {64 << 10, true, 6},
}

// String describes the cell in the table.
func (c cell) String() string {
	switch {
	case c.messages == 1:
		return "one message"
	case c.all:
		return "all ranks publish"
	}
	return "rank 0 publishes"
}

func run(ctx context.Context, std terminal.Stdio, rounds, part int) error {
	var names []string
	for _, a := range schedule.AlgorithmsOf(schedule.Anycast) {
		names = append(names, a.Name)
	}
	times := make([][][]time.Duration, len(names)) // algorithm, cell, round
	for i := range times {
		times[i] = make([][]time.Duration, len(cells))
	}
	last := false
	for range rounds {
		for i, name := range names {
			rank, took, err := round(ctx, std, name, part)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			last = rank == 0
			for k := range cells {
				times[i][k] = append(times[i][k], took[k])
			}
		}
	}
	if last {
		return write(std.Out, names, times)
	}
	return nil
}

// round measures all cells with a new communicator, and returns the time of one message in each.
func round(ctx context.Context, std terminal.Stdio, name string, part int) (rank int, took []time.Duration, err error) {
	comm, err := schedgen.Join(ctx, schedgen.Config{Algorithms: map[string]schedgen.Algorithm{"anycast": {Name: name}}})
	if err != nil {
		return 0, nil, err
	}
	defer func() {
		if e := comm.Close(); err == nil {
			err = e
		}
	}()
	for _, c := range cells {
		if c.messages > 1 {
			c.messages = max(2, c.messages/part)
		}
		all := make([]time.Duration, 0, 21)
		repeat := 1
		if c.messages == 1 {
			repeat = 21
		}
		for i := -1; i < repeat; i++ { // the first makes the connections
			took, err := c.time(ctx, comm)
			if err != nil {
				return 0, nil, fmt.Errorf("%v of %d bytes: %w", c, c.bytes, err)
			}
			if i >= 0 {
				all = append(all, took)
			}
		}
		took = append(took, median(all)/time.Duration(c.messages))
	}
	lost := []int64{int64(comm.Runtime().Totals().Given)}
	if err := schedgen.Allreduce(ctx, comm, lost, schedgen.Sum); err != nil {
		return 0, nil, err
	}
	if comm.Rank() == 0 && lost[0] > 0 {
		std.Note(fmt.Sprintf("%s: %d messages were put again", name, lost[0]))
	}
	return comm.Rank(), took, nil
}

// time returns how long the messages of c take until the last rank has all of them.
func (c cell) time(ctx context.Context, comm *schedgen.Comm) (time.Duration, error) {
	if err := schedgen.Barrier(ctx, comm); err != nil {
		return 0, err
	}
	start := time.Now()
	published := make(chan error, 1)
	if publishes := c.all || comm.Rank() == 0; publishes && c.all {
		go func() { published <- c.publish(ctx, comm) }()
	} else if publishes {
		published <- c.publish(ctx, comm)
	} else {
		published <- nil
	}
	if err := c.receive(ctx, comm); err != nil {
		return 0, err
	}
	if err := <-published; err != nil {
		return 0, err
	}
	took := []float64{float64(time.Since(start))}
	err := schedgen.Allreduce(ctx, comm, took, schedgen.Max)
	return time.Duration(took[0]), err
}

func (c cell) publish(ctx context.Context, comm *schedgen.Comm) error {
	msg := make([]byte, c.bytes)
	for range c.messages {
		if err := comm.Publish(ctx, msg); err != nil {
			return err
		}
	}
	return nil
}

func (c cell) receive(ctx context.Context, comm *schedgen.Comm) error {
	n := c.messages
	switch {
	case c.all:
		n *= comm.Size() - 1
	case comm.Rank() == 0:
		n = 0
	}
	for range n {
		m, err := comm.Next(ctx)
		if err != nil {
			return err
		}
		if len(m.Data) != c.bytes {
			return fmt.Errorf("message %d of rank %d has %d bytes", m.Seq, m.Origin, len(m.Data))
		}
	}
	return nil
}

func median(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2]
}

// write prints the table: microseconds for each message of a publisher.
func write(out io.Writer, names []string, times [][][]time.Duration) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "µs a message\tbytes\t")
	for _, name := range names {
		fmt.Fprintf(w, "%s\t", name)
	}
	fmt.Fprintln(w)
	for k, c := range cells {
		fmt.Fprintf(w, "%v\t%d\t", c, c.bytes)
		for i := range names {
			fmt.Fprintf(w, "%.1f\t", float64(median(times[i][k]))/1e3)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
