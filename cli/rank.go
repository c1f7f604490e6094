package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/words"
	"github.com/schedgen/schedgen/schedule"
)

// oneRankCmd is the verb rank. It runs one rank; the other ranks are started by hand or by a
// launcher, on other hosts or in other network namespaces.
type oneRankCmd struct {
	kong.Plugins             // see rankVerbs
	Tune         rankTuneCmd `cmd:"" help:"Measure how long messages between two hosts take, and write rules for them."`
}

// rankCollectiveCmd is the verb of rank for a collective.
type rankCollectiveCmd struct {
	seatFlags
	collectiveCmd
}

// Help is the long help text.
func (c *rankCollectiveCmd) Help() string {
	var b strings.Builder
	fmt.Fprintf(&b, `Runs one rank of %s. Start it once for each rank, with the same flags. A launcher may set --rank
and -p by its variables: mpirun, srun, flux run, PALS, torchrun or Kubernetes. The ranks meet at
--coordinator, an address of rank 0, or else where the launcher's variables say. Rank 0 prints the
results of all ranks. A rank that waits for others prints after two seconds which ranks are missing,
and why. It gives up after a minute.

%s
Transports:

%s
Examples:
`, words.WithArticle(c.row.Name), c.kind.seat.fill(c.row.Name), transportTable(runAuto, overTCP, overMcast, overHybrid, overVerbs, overAuto))
	for _, e := range c.kind.examples["rank"] {
		fmt.Fprintf(&b, "\n  schedgen rank %s %s", c.row.Name, e)
	}
	for _, e := range c.kind.examples["mpirun"] {
		fmt.Fprintf(&b, "\n  mpirun -n 4 schedgen rank %s %s", c.row.Name, e)
	}
	return b.String()
}

// refused lists the flags of run that rank refuses.
func (*rankCollectiveCmd) Refused() []string { return []string{"netns"} }

// Run takes part as one rank. Rank 0 proves the schedule, and prints the outcome.
func (c *rankCollectiveCmd) Run(ctx context.Context, std terminal.Stdio) (err error) {
	flags := &c.runFlags
	s := &session{flags: flags, seen: c.seenFlags, std: std}
	flags.apart = true
	_, unread := c.load(ctx, std) // it may set the number of ranks
	rank, err := c.position(flags, std.Getenv)
	switch {
	case unread != nil:
		return c.absent(ctx, flags, std, unread)
	case err != nil:
		return err
	}
	err = c.ready(ctx, s, rank)
	defer func() { err = errors.Join(err, s.Input.Close()) }()
	if err != nil {
		return c.absent(ctx, flags, std, err)
	}
	t, err := s.takePart(ctx, &c.seatFlags, terminal.Progress{})
	if err != nil || rank != 0 {
		return err
	}
	return s.print(t)
}

// ready does everything that comes before the ranks meet.
func (c *rankCollectiveCmd) ready(ctx context.Context, s *session, rank int) error {
	r, err := c.prepare(ctx, s)
	if err != nil {
		return err
	}
	s.Job.Rank, s.Job.Params, s.Job.Link.Job = rank, r.params(), c.seatFlags.Job
	s.Job.FromFile = r.file != nil
	s.Job.Replies, s.Job.Acked = c.row.Broadcasts(), s.Job.Learn == "" && schedule.Acknowledged(s.Job.Algorithm)
	if s.Outputs != nil {
		s.Job.Output = s.Outputs[rank]
	}
	s.flags.announce(s.std)
	if rank == 0 {
		if s.proof, err = r.prove(ctx); err != nil {
			return s.refuted(err)
		}
	}
	return nil
}

// takePart does the work of this rank at its seat, and returns what [crew.TakePart] returns. bar
// shows the progress.
func (s *session) takePart(ctx context.Context, seat *seatFlags, bar terminal.Progress) (t *crew.Tally, err error) {
	defer bar.Clear()
	s.Job.Log, s.Job.Latency = waitLog(s.std), s.seen.Status != nil
	res := crew.Resources{Input: s.Input, Schedule: s.flags.file, Open: seat.opening(s.flags), Position: crew.NewPosition(s.Job.Rank), Log: s.flags.eventLog(s.std)}
	trace, err := s.seen.openTrace()
	if err != nil {
		return nil, seat.absent(ctx, s.flags, s.std, err)
	}
	defer func() { err = errors.Join(err, trace.close()) }()
	res.Trace = trace.file()
	pages, err := s.seen.showRank(ctx, res.Position, s.Job.Link.Coordinator, s.std)
	if err != nil {
		return nil, seat.absent(ctx, s.flags, s.std, err)
	}
	defer func() { err = errors.Join(err, pages.close()) }()
	t, err = crew.TakePart(ctx, &s.Job, res, pages.joined, bar.Add)
	return t, runError(err)
}
