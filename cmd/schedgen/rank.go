package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/runtime/launch"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// oneRankCmd is the verb rank: one rank of a run that others start by hand, on
// other hosts or in other network namespaces.
type oneRankCmd struct {
	Bcast rankBcastCmd `cmd:"" help:"Take part in broadcasts as one rank."`
}

// rankBcastCmd is the verb rank bcast.
type rankBcastCmd struct {
	Rank *int   `placeholder:"R" help:"This rank, default from the launcher's variables (SCHEDGEN_RANK, PMI_RANK and so on)."`
	Job  string `placeholder:"NAME" help:"Name of the job, the same at all its ranks: those of another one are turned away; default SCHEDGEN_JOB."`
	runBcastCmd
	found *launch.Position `kong:"-"` // what the launcher says, nil if the flags say it all
}

// Help is the long help text.
func (rankBcastCmd) Help() string {
	return `Runs one rank of a broadcast that is started once on every host, with the same flags. --rank
and -p may come from the launcher's variables: those of mpirun, srun, torchrun, Kubernetes. The
ranks meet at --coordinator, an address of rank 0's, or without it where the launcher's
variables say; rank 0 prints the outcome of all of them. Ranks that have not come after a
minute are named by all that are there.

Beside the times of the calls it prints the time from the root's call until all ranks have
said that they have the message: by the algorithm's own acknowledgements, else by a barrier.

Transports:

` + transportTable(runAuto, overTCP, overMcast, overHybrid, overVerbs, overAuto) + `
Example:

  schedgen rank bcast -p 15 --rank 3 --coordinator 10.77.0.1:7777 \
    --transport mcast --interface eth0 --size 512KiB
  schedgen rank bcast -p 3 --rank 0 --coordinator 10.77.0.1:7777 \
    --transport verbs --device mlx5_0
  mpirun -n 4 schedgen rank bcast --transport tcp --size 512KiB`
}

// Run takes part.
func (c *rankBcastCmd) Run(ctx context.Context, std stdio) (err error) {
	s := &session{flags: &c.runFlags, seen: c.seenFlags, std: std}
	c.apart = true
	rank, err := c.position(std.Getenv)
	if err != nil {
		return err
	}
	spec, err := c.prepare(ctx, s)
	defer func() { err = errors.Join(err, s.input.close()) }()
	if err != nil {
		return err
	}
	s.job.Rank, s.job.Params, s.job.Link.Job = rank, spec.Params(), c.Job
	s.job.Replies, s.job.Acked = true, repliesItself(s.job.Algorithm)
	if s.names != nil {
		s.job.Output = s.names[rank]
	}
	c.announce(std)
	if rank == 0 {
		if s.proof, err = proveSpecs(ctx, []*schedule.Spec{spec}); err != nil {
			return s.refuted(err)
		}
	}
	if c.Coordinator != "" {
		return s.takePart(ctx, openTransport)
	}
	return s.takePart(ctx, c.openFound)
}

// openFound connects a rank with the others where the launcher's variables say that
// they meet.
func (c *rankBcastCmd) openFound(ctx context.Context, j *job) (wire.Transport, error) {
	m, err := c.found.Meet(ctx)
	if err != nil {
		return nil, err
	}
	cfg := m.Config(c.found)
	if j.Link.Job != "" {
		cfg.Job = j.Link.Job
	}
	return j.Link.open(ctx, cfg)
}

// position completes the flags from the launcher's variables and returns the rank.
func (c *rankBcastCmd) position(getenv func(string) string) (int, error) {
	switch {
	case c.Transport == overMem:
		return 0, errors.New("--transport=mem: is for ranks of one process")
	case c.Transport == overShm:
		return 0, errors.New("--transport=shm: is for ranks that one process starts; hybrid finds those of one host")
	case c.Netns != nil:
		return 0, errors.New("--netns: is for run, which makes hosts up and starts all ranks")
	}
	if c.Job == "" {
		c.Job = getenv("SCHEDGEN_JOB")
	}
	if len(c.Job) > tcp.MaxJob {
		return 0, fmt.Errorf("--job: a name of %d bytes, at most %d are allowed", len(c.Job), tcp.MaxJob)
	}
	if c.Coordinator == "" || c.Rank == nil || c.Ranks == nil {
		found, err := launch.Find(getenv)
		switch {
		case err != nil && c.Coordinator == "":
			return 0, fmt.Errorf("--coordinator: needed, such as 10.77.0.1:7777, an address of rank 0's, where no launcher says where to meet: %w", err)
		case err != nil:
			return 0, fmt.Errorf("--rank and -p: %w", err)
		}
		c.found = &found
		if c.Rank == nil {
			c.Rank = &found.Rank
		}
		if c.Ranks == nil {
			c.Ranks = new(rankRange)
			if err := c.Ranks.UnmarshalText(fmt.Append(nil, found.Size)); err != nil {
				return 0, err
			}
		}
	}
	p, err := c.ranks()
	if err == nil && (*c.Rank < 0 || *c.Rank >= p) {
		err = fmt.Errorf("--rank=%d: must be in 0..%d", *c.Rank, p-1)
	}
	if f := c.found; err == nil && c.Coordinator == "" && (*c.Rank != f.Rank || p != f.Size) {
		err = fmt.Errorf("--rank=%d and -p %d: %s say rank %d of %d, and no --coordinator says where others meet", *c.Rank, p, f.Source, f.Rank, f.Size)
	}
	return *c.Rank, err
}
