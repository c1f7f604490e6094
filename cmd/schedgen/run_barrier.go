package main

import (
	"context"
	"errors"

	"github.com/schedgen/schedgen/schedule"
)

// runBarrierCmd is the verb run barrier.
type runBarrierCmd struct {
	fileArg
	Iterations *int `placeholder:"N" help:"Barriers, default 1000; one more warms up."`
	Degree     *int `placeholder:"N" help:"n of the n-ary barriers, default P up to 16 ranks, 6 above."`
	FanIn      *int `placeholder:"N" help:"Fan of the gather tree of barrier/hsb and hsb-mcast, default P-1 up to 16 ranks, 6 above."`
	FanOut     *int `placeholder:"N" help:"Fan of its release tree, likewise."`
	Hosts      *int `placeholder:"H" help:"Blocks of ranks that share a host: masters run the algorithm, the others follow."`
	barrierIdle
	runFlags
	seenFlags
}

// barrierIdle are flags of the other verbs that have nothing to act on here.
type barrierIdle struct {
	Size   *byteSize `hidden:""`
	Root   *int      `hidden:""`
	Chunks *int      `hidden:""`
}

func (f *barrierIdle) drop(std stdio) {
	if f.Size != nil {
		std.idle("size", noMessage)
	}
	flags := paramFlags{Root: f.Root, Chunks: f.Chunks}
	flags.dropIdle(schedule.Barrier, std)
}

// Help is the long help text.
func (runBarrierCmd) Help() string {
	return `The schedule is proved first. Then local processes are started, one a rank, which go through
barrier after barrier. Each counts itself in, in memory that all share, before it enters a
barrier, and looks at all counters when it has left it; the exit code is 1 if it was let go
before all had entered.

A FILE that holds a schedule is proved and run in place of an algorithm.

Default algorithm: barrier/hsb; of two ranks barrier/dissemination. --loss has
barrier/hsb-mcast lose multicasts.

Transports:

` + transportTable(runAuto, overMem, overTCP, overMcast, overShm, overHybrid, overVerbs, overAuto) + `
Examples:

  schedgen run barrier -p 8 --algorithm barrier/hsb \
    --fan-in 3 --fan-out 3
  schedgen run barrier -p 8 --algorithm barrier/hsb-mcast --loss 0.01`
}

const defaultBarriers = 1000

// Run goes through barriers.
func (c *runBarrierCmd) Run(ctx context.Context, std stdio) (err error) {
	c.drop(std)
	s := &session{flags: &c.runFlags, seen: c.seenFlags, std: std}
	r, err := c.prepare(ctx, s)
	if err != nil {
		return err
	}
	return s.finish(ctx, r)
}

// prepare turns the flags into a session's job and what is run.
func (c *runBarrierCmd) prepare(ctx context.Context, s *session) (r toRun, err error) {
	if s.job, err = c.common("barrier"); err != nil {
		return r, err
	}
	if s.job.Iterations, err = iterations(c.Iterations, defaultBarriers); err != nil {
		return r, err
	}
	s.limit = s.job.Iterations
	flags := paramFlags{Degree: c.Degree, FanIn: c.FanIn, FanOut: c.FanOut, Hosts: c.Hosts}
	if r.file, err = c.load(ctx, s.std, &c.runFlags, schedule.Barrier, flags); err != nil {
		return r, err
	}
	if err := c.barrierLink(ctx, s.std, &s.job); err != nil {
		return r, err
	}
	if s.job.Algorithm = c.Algorithm; r.file != nil {
		return r, nil
	}
	p, err := c.params(schedule.Barrier, flags)
	if err != nil {
		return r, err
	}
	spec, err := newSpec(c.Algorithm, p)
	r.specs = []*schedule.Spec{spec}
	return r, err
}

// barrierLink chooses the algorithm and the link: only one algorithm multicasts.
func (c *runBarrierCmd) barrierLink(ctx context.Context, std stdio, j *job) (err error) {
	if _, err := c.ranks(); err != nil {
		return err
	}
	if c.Loss != nil && c.Algorithm != "" && !c.casts() {
		return errLoss
	}
	at, err := c.situation(ctx, std, schedule.Barrier, 0, c.Hosts)
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
		return errLoss
	}
	return nil
}

// casts reports whether what is run multicasts.
func (c *runBarrierCmd) casts() bool {
	return c.Algorithm == castBarrier || c.file != nil && c.file.Chunks > 0
}

// castBarrier is the barrier that multicasts.
const castBarrier = "barrier/hsb-mcast"

var errLoss = errors.New("--loss: only multicasts are lost; broadcasts and " + castBarrier + " have them")

// quietLink is the link of a run without multicasts: nothing can be lost.
func (f *runFlags) quietLink(ctx context.Context, std stdio) (link, error) {
	if f.Loss != nil {
		return link{}, errLoss
	}
	l, _, err := f.link(ctx, std)
	if l.Transport == overHybrid {
		l.Interface = ""
	}
	return l, err
}
