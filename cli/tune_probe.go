package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/cli/internal/probe"
	"github.com/schedgen/schedgen/internal/model/fit"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/schedule"
)

// putting is the algorithm by which two ranks send each other a message. It is one put.
const putting = "bcast/linear"

// probe starts two ranks and measures messages between them.
func (t *tuned) probe(ctx context.Context) error {
	flags := t.cmd.flagsFor(2)
	if flags.Transport == overAuto {
		flags.Transport = flags.auto()
	}
	s, err := t.prepare(ctx, &flags)
	if err != nil {
		return err
	}
	s.begin()
	defer s.Close()
	if err := s.Open(ctx); err != nil {
		return runError(err)
	}
	bar := t.bar()
	of := crew.NewTally(2, bar.Add)
	if err := s.execute(ctx, of, bar); err != nil {
		return err
	}
	return t.take(of)
}

// bar returns a progress bar with a step for each size of messages.
func (t *tuned) bar() terminal.Progress { return terminal.NewProgress(t.std, t.wanted, "messages") }

// prepare returns the session of the two ranks that measure.
func (t *tuned) prepare(ctx context.Context, flags *runFlags) (*session, error) {
	c := t.cmd
	sizes := doublings(int(c.Size.lo), int(c.Size.hi))
	t.wanted = len(sizes)
	j, err := flags.common(crew.TaskTune, schedule.Bcast)
	if err != nil {
		return nil, err
	}
	if j.Link, _, err = flags.link(ctx, t.std); err != nil {
		return nil, err
	}
	flags.announce(t.std)
	c.Transport, t.link = j.Link.Transport, j.Link
	j.Algorithm, j.Params = putting, schedule.Params{Ranks: 2, Chunks: 1}
	j.Tune = probe.Plan{Sizes: sizes, Precision: c.Precision, Budget: c.Budget}
	if c.Ranks != nil {
		j.Tune.Budget /= 2
	}
	return &session{flags: flags, std: t.std, Plan: crew.Plan{Job: j}}, nil
}

// take stores the times that rank 0 has measured, and fits the machine to them.
func (t *tuned) take(of *crew.Tally) error {
	t.samples = of.Ranks[0].Outcome.Tuned
	if len(t.samples) == 0 {
		return errors.New("rank 0 has measured nothing")
	}
	sizes := make([]fit.Size, len(t.samples))
	for i := range t.samples {
		s := &t.samples[i]
		if n := len(s.RoundTrip); n == 0 || len(s.Send) != n || len(s.Receive) != n || len(s.Flood) != n {
			return fmt.Errorf("rank 0 has reported different numbers of times for messages of %d bytes", s.Bytes)
		}
		sizes[i] = s.Size()
	}
	t.machine = fit.NewMachine(sizes)
	return nil
}
