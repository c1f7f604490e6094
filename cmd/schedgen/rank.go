package main

import (
	"context"
	"errors"

	"github.com/schedgen/schedgen/schedule"
)

// oneRankCmd is the verb rank: one rank of a run that others start by hand, on
// other hosts or in other network namespaces.
type oneRankCmd struct {
	Bcast rankBcastCmd `cmd:"" help:"Take part in broadcasts as one rank."`
	Tune  rankTuneCmd  `cmd:"" help:"Measure what messages between two hosts take, and make rules of that."`
}

// rankBcastCmd is the verb rank bcast.
type rankBcastCmd struct {
	seatFlags
	runBcastCmd
}

// Help is the long help text.
func (rankBcastCmd) Help() string {
	return `Runs one rank of a broadcast that is started once on every host, with the same flags. --rank
and -p may come from the variables of a launcher: mpirun, srun, flux run, PALS, torchrun or
Kubernetes. The ranks meet at --coordinator, an address of rank 0's, or without it where the
launcher's variables say; rank 0 prints the outcome of all of them. Ranks that wait for others
say after two seconds which have not come, and why. They give up after a minute.

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
	flags := paramFlags{Root: c.Root, Chunks: c.Chunks, Hosts: c.Hosts}
	if _, err := c.load(ctx, std, &c.runFlags, schedule.Bcast, flags); err != nil {
		return err
	}
	rank, err := c.position(&c.runFlags, std.Getenv)
	if err != nil {
		return err
	}
	r, err := c.prepare(ctx, s)
	defer func() { err = errors.Join(err, s.input.close()) }()
	if err != nil {
		return err
	}
	s.job.Rank, s.job.Params, s.job.Link.Job = rank, r.params(), c.Job
	s.job.FromFile = r.file != nil
	s.job.Replies, s.job.Acked = true, repliesItself(s.job.Algorithm)
	if s.names != nil {
		s.job.Output = s.names[rank]
	}
	c.announce(std)
	if rank == 0 {
		if s.proof, err = r.prove(ctx); err != nil {
			return s.refuted(err)
		}
	}
	t, err := s.takePart(ctx, c.opening(&c.runFlags), runProgress{})
	if err != nil || rank != 0 {
		return err
	}
	return s.print(t)
}
