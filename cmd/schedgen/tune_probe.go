package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim/fit"
)

// putting is the algorithm by which two ranks send each other a message: one put.
const putting = "bcast/linear"

// probe measures messages between two ranks.
func (t *tuned) probe(ctx context.Context) ([]fit.Samples, error) {
	c := t.cmd
	sizes := doublings(int(c.Size.lo), int(c.Size.hi))
	t.wanted = len(sizes)
	flags := c.run(2)
	if flags.Transport == overAuto {
		flags.Transport = flags.auto()
	}
	j, err := flags.common("tune")
	if err != nil {
		return nil, err
	}
	if j.Link, _, err = flags.link(ctx, t.std); err != nil {
		return nil, err
	}
	flags.announce(t.std)
	c.Transport, t.link = j.Link.Transport, j.Link
	j.Algorithm, j.Params = putting, schedule.Params{Ranks: 2, Chunks: 1}
	j.Tune = tuning{Sizes: sizes, Precision: c.Precision, Budget: c.Budget}
	if c.Ranks != nil {
		j.Tune.Budget /= 2
	}
	s := &session{flags: &flags, std: t.std, job: j}
	defer s.files.close()
	if err := s.inherit(ctx); err != nil {
		return nil, err
	}
	of := newTally(&s.job, newRunProgress(t.std, "messages", len(sizes)))
	if err := s.execute(ctx, of); err != nil {
		return nil, err
	}
	samples := of.ranks[0].outcome.Tuned
	if len(samples) == 0 {
		return nil, errors.New("rank 0 has measured nothing")
	}
	for i := range samples {
		if n := len(samples[i].RoundTrip); n == 0 || len(samples[i].Send) != n || len(samples[i].Receive) != n || len(samples[i].Flood) != n {
			return nil, fmt.Errorf("rank 0 has told times that do not belong together, of %d bytes", samples[i].Bytes)
		}
	}
	return samples, nil
}
