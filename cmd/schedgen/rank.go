package main

import (
	"context"
	"errors"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/ir"
)

// oneRankCmd is the verb rank. It runs one rank; the other ranks are started by hand or by a
// launcher, on other hosts or in other network namespaces.
type oneRankCmd struct {
	kong.Plugins             // see rankVerbs
	Tune         rankTuneCmd `cmd:"" help:"Measure how long messages between two hosts take, and write rules for them."`
}

// seated is a command of the verb run that the verb rank has, too, and which then runs as one rank.
type seated interface {
	collectiveCmd

	// read reads the file with the schedule, if the flags name one. The schedule sets the number of
	// ranks.
	read(ctx context.Context, std stdio) error
}

// rankMessageCmd is the verb of rank for a collective of the kind message.
type rankMessageCmd struct {
	seatFlags
	messageCmd
}

func (message) seat(row ir.Collective) (any, string) {
	return &rankMessageCmd{messageCmd: messageCmd{row: row}}, "Take part in broadcasts as one rank."
}

// Help is the long help text.
func (c *rankMessageCmd) Help() string {
	return `Runs one rank of a broadcast. Start it once for each rank, with the same flags. A launcher may set
--rank and -p by its variables: mpirun, srun, flux run, PALS, torchrun or Kubernetes. The ranks
meet at --coordinator, an address of rank 0, or else where the launcher's variables say. Rank 0
prints the results of all ranks. A rank that waits for others prints after two seconds which ranks
are missing, and why. It gives up after a minute.

It prints the times of the calls, and the time from the root's call until all ranks have told the
root that they have the message: by the algorithm's own acknowledgements, or else by a barrier.

Transports:

` + transportTable(runAuto, overTCP, overMcast, overHybrid, overVerbs, overAuto) + `
Example:

  schedgen rank ` + c.row.Name + ` -p 15 --rank 3 --coordinator 10.77.0.1:7777 \
    --transport mcast --interface eth0 --size 512KiB
  schedgen rank ` + c.row.Name + ` -p 3 --rank 0 --coordinator 10.77.0.1:7777 \
    --transport verbs --device mlx5_0
  mpirun -n 4 schedgen rank ` + c.row.Name + ` --transport tcp --size 512KiB`
}

// Run takes part as one rank.
func (c *rankMessageCmd) Run(ctx context.Context, std stdio) error {
	return takeSeat(ctx, std, &c.seatFlags, &c.messageCmd)
}

// takeSeat runs a collective as one of its ranks. Rank 0 proves the schedule, and prints the
// outcome.
func takeSeat(ctx context.Context, std stdio, seat *seatFlags, c seated) (err error) {
	flags, seen := c.flags()
	s := &session{flags: flags, seen: *seen, std: std}
	flags.apart = true
	if err := c.read(ctx, std); err != nil {
		return err
	}
	rank, err := seat.position(flags, std.Getenv)
	if err != nil {
		return err
	}
	r, err := c.prepare(ctx, s)
	defer func() { err = errors.Join(err, s.input.close()) }()
	if err != nil {
		return err
	}
	s.job.Rank, s.job.Params, s.job.Link.Job = rank, r.params(), seat.Job
	s.job.FromFile = r.file != nil
	s.job.Replies, s.job.Acked = isMessage(rowOf(s.job.Collective)), repliesItself(s.job.Algorithm)
	if s.names != nil {
		s.job.Output = s.names[rank]
	}
	flags.announce(std)
	if rank == 0 {
		if s.proof, err = r.prove(ctx); err != nil {
			return s.refuted(err)
		}
	}
	t, err := s.takePart(ctx, seat.opening(flags), runProgress{})
	if err != nil || rank != 0 {
		return err
	}
	return s.print(t)
}
