package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
)

// rankTuneCmd is the verb rank tune.
type rankTuneCmd struct {
	Ranks       *source.Ranks `short:"p" placeholder:"P" help:"Number of ranks, which must be 2; default from the launcher's variables."`
	Coordinator string        `placeholder:"HOST:PORT" help:"Address of rank 0 where the ranks meet; default from the launcher's variables."`
	seatFlags
	tuneFlags
	tuneLink
}

// Help is the long help text.
func (rankTuneCmd) Help() string {
	return `Measures as "schedgen tune" does, but between two hosts of a cluster. Start it once on each host, with
the same flags. A launcher may set --rank and -p by its variables: mpirun, srun, flux run,
PALS, torchrun or Kubernetes. Rank 0 prints the times of messages and the resulting rules, and writes the files.

The rules are for one rank on each host, and for hosts that are all as far from each other as these
two. Programs read them by SCHEDGEN_RULES or --rules, which must be the same at all ranks.

Transports:

` + transportTable(overTCP, overTCP, overMcast, overVerbs) + `
Examples:

  schedgen rank tune -p 2 --rank 0 --coordinator 10.77.0.1:7777 \
    --rules tuned.json
  schedgen rank tune -p 2 --rank 1 --coordinator 10.77.0.1:7777
  srun -N 2 -n 2 schedgen rank tune --rules tuned.json --plot tuned.svg`
}

// Run measures, as one of two ranks.
func (c *rankTuneCmd) Run(ctx context.Context, std terminal.Stdio) error {
	c.Transport = cmp.Or(c.Transport, overTCP)
	if err := errors.Join(c.check(), oneOf("transport", c.Transport, []string{overTCP, overMcast, overVerbs})); err != nil {
		return err
	}
	tune := &tuneCmd{tuneFlags: c.tuneFlags, tuneLink: c.tuneLink}
	flags := tune.flagsFor(2)
	flags.Ranks, flags.Coordinator = c.Ranks, c.Coordinator
	rank, err := c.position(&flags, std.Getenv)
	if err != nil {
		return err
	}
	if p := flags.Ranks.Lo; p != 2 {
		return fmt.Errorf("--ranks=%d: messages are measured between 2 ranks", p)
	}
	t := &tuned{cmd: tune, std: std, start: time.Now()}
	s, err := t.prepare(ctx, &flags)
	if err != nil {
		return c.absent(ctx, &flags, std, err)
	}
	s.Job.Rank, s.Job.Link.Job = rank, c.Job
	bar := terminal.Progress{}
	if rank == 0 {
		bar = t.bar()
	}
	of, err := s.takePart(ctx, &c.seatFlags, bar)
	if err != nil || rank != 0 {
		return err
	}
	if err := t.take(of); err != nil {
		return err
	}
	return t.finish(ctx)
}
