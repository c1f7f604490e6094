package main

import (
	"context"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// synchronizing is the kind of collectives that move no bytes and that no rank leaves before all
// have entered.
type synchronizing struct{}

func (synchronizing) command(row ir.Collective) (collectiveCmd, string) {
	return &barrierCmd{row: row}, "Run barriers and check that no rank leaves one too soon."
}

// seat returns nil: ranks that are started one by one share no memory for the counters that detect
// a rank which leaves too soon.
func (synchronizing) seat(ir.Collective) (any, string) { return nil, "" }

func (synchronizing) operations(row ir.Collective) []operation {
	return []operation{{name: row.Name, collective: row.Name, help: withArticle(row.Name)}}
}

// barrierCmd is the verb of run for a collective of the kind synchronizing.
type barrierCmd struct {
	row ir.Collective
	fileArg
	Iterations *int `placeholder:"N" help:"Number of barriers; default 1000; one more warms up."`
	Degree     *int `placeholder:"N" help:"Degree n of the n-ary barriers; default P up to 16 ranks, 6 above."`
	FanIn      *int `placeholder:"N" help:"Fan-in of the gather tree of barrier/hsb and barrier/hsb-mcast; default P-1 up to 16 ranks, 6 above."`
	FanOut     *int `placeholder:"N" help:"Fan-out of the release tree of barrier/hsb and barrier/hsb-mcast; default as for --fan-in."`
	Hosts      *int `placeholder:"H" help:"Number of hosts that the ranks are on, in blocks: one master per host runs the algorithm, and the other ranks follow it."`
	barrierIdle
	runFlags
	seenFlags
}

// barrierIdle are flags of the other verbs that have no effect on barriers.
type barrierIdle struct {
	Size   *byteSize `hidden:""`
	Root   *int      `hidden:""`
	Chunks *int      `hidden:""`
}

func (f *barrierIdle) drop(collective string, std stdio) {
	if f.Size != nil {
		std.idle("size", noMessage(collective))
	}
	flags := paramFlags{Root: f.Root, Chunks: f.Chunks}
	flags.dropIdle(collective, std)
}

// Help is the long help text.
func (c *barrierCmd) Help() string {
	return `Proves the schedule, starts a local process for each rank, and runs many barriers. Each rank
increments its counter, in shared memory, before it enters a barrier, and compares the counters of
all ranks after it has left the barrier. The exit code is 1 if a rank left a barrier before all had
entered it.

FILE holds a schedule that runs in place of an algorithm.

The default algorithm depends on the number of ranks and the transport. With the same flags,
schedgen explain tells which one it is, and why. --loss needs barrier/hsb-mcast, which multicasts.

Transports:

` + transportTable(runAuto, overMem, overTCP, overMcast, overShm, overHybrid, overVerbs, overAuto) + `
Examples:

  schedgen run ` + c.row.Name + ` -p 8 --algorithm hsb --fan-in 3 --fan-out 3
  schedgen run ` + c.row.Name + ` -p 8 --algorithm hsb-mcast --loss 0.01`
}

const defaultBarriers = 1000

// Run runs barriers.
func (c *barrierCmd) Run(ctx context.Context, std stdio) error { return runCommand(ctx, std, c) }

func (c *barrierCmd) flags() (*runFlags, *seenFlags) { return &c.runFlags, &c.seenFlags }

func (c *barrierCmd) prepare(ctx context.Context, s *session) (r toRun, err error) {
	c.drop(c.row.Name, s.std)
	if s.job, err = c.common(taskRun, c.row.Name); err != nil {
		return r, err
	}
	if s.job.Iterations, err = iterations(c.Iterations, defaultBarriers); err != nil {
		return r, err
	}
	s.limit = s.job.Iterations
	flags := paramFlags{Degree: c.Degree, FanIn: c.FanIn, FanOut: c.FanOut, Hosts: c.Hosts}
	if r.file, err = c.load(ctx, s.std, &c.runFlags, c.row.Name, flags); err != nil {
		return r, err
	}
	if err := c.barrierLink(ctx, s.std, &s.job); err != nil {
		return r, err
	}
	if s.job.Algorithm = c.Algorithm; r.file != nil {
		return r, nil
	}
	p, err := c.params(c.row.Name, flags)
	if err != nil {
		return r, err
	}
	spec, err := newSpec(c.Algorithm, p)
	r.specs = []*schedule.Spec{spec}
	return r, err
}

// barrierLink chooses the link and the algorithm. It drops the interface of a hybrid link if the
// algorithm does not multicast.
func (c *barrierCmd) barrierLink(ctx context.Context, std stdio, j *job) (err error) {
	if _, err := c.ranks(); err != nil {
		return err
	}
	if c.Loss != nil && c.Algorithm != "" && !c.casts() {
		return errLoss()
	}
	at, err := c.situation(ctx, std, &c.row, 0, c.Hosts)
	if err != nil {
		return err
	}
	j.Link = at.link
	if err := c.choose(std, j, at.of); err != nil || c.casts() {
		return err
	}
	if j.Link.Transport == overHybrid {
		j.Link.Interface = ""
	}
	if c.Loss != nil {
		return errLoss()
	}
	return nil
}

// casts reports whether the algorithm or the schedule of the file multicasts.
func (c *barrierCmd) casts() bool {
	return multicasts(c.Algorithm) || c.file != nil && c.file.Chunks > 0
}

// table prints the times of barriers at each rank, and of the slowest rank.
func (synchronizing) table(s *session, w io.Writer, t *tally) string {
	fmt.Fprintf(w, "%s: %s\n", s.title(), count(s.job.Iterations, s.job.Collective))
	fmt.Fprintln(w, "rank\tmedian\tp99\t")
	for rank := range t.ranks {
		r := &t.ranks[rank]
		fmt.Fprintf(w, "%d\t%s\t%s\t\n", rank, spell(quantile(r.times, 50)), spell(quantile(r.times, 99)))
	}
	fmt.Fprintf(w, "max over ranks\t%s\t%s\t\n", spell(quantile(t.slowest, 50)), spell(quantile(t.slowest, 99)))
	return ""
}

func (synchronizing) object(*session, *tally, *runObject) {}

func (synchronizing) verdict(s *session) string {
	return fmt.Sprintf("no rank left a %s before the last had entered it", s.job.Collective)
}

func (synchronizing) wrong() string { return "no barrier" }

func (synchronizing) timed() bool { return true }
