package main

import (
	"context"
	"fmt"

	"github.com/schedgen/schedgen/schedule"
)

// runAnycastCmd is the verb run anycast.
type runAnycastCmd struct {
	Messages int       `default:"1000" placeholder:"N" help:"Messages that every rank publishes, default 1000."`
	Size     *byteSize `placeholder:"N" help:"Bytes of a message, default 1KiB; units B, kB, MB, GB, KiB, MiB, GiB."`
	runFlags
	seenFlags
}

// Help is the long help text.
func (runAnycastCmd) Help() string {
	return `The schedules of all origins are proved first. Then local processes are started, one a rank.
Each publishes its messages while it receives those of all others; every message must come
exactly once, unchanged and in its origin's order, else the exit code is 1.

Default algorithm: anycast/skip-ring.

Transports:

` + transportTable(runAuto, overMem, overTCP, overMcast, overShm, overHybrid, overVerbs, overAuto) + `
Example:

  schedgen run anycast -p 8 --messages 1000 --size 1KiB`
}

// maxCast is the largest rootless message: it is held at every rank on its way.
const maxCast = 1 << 30

// Run publishes and receives.
func (c *runAnycastCmd) Run(ctx context.Context, std stdio) (err error) {
	s := &session{flags: &c.runFlags, seen: c.seenFlags, std: std}
	if s.job, err = c.common("anycast"); err != nil {
		return err
	}
	at, err := c.situation(ctx, std, schedule.Anycast, 0, nil)
	if err != nil {
		return err
	}
	s.job.Link = at.link
	if err := c.choose(std, &s.job, at.of); err != nil {
		return err
	}
	if s.job.Messages, s.job.Size, err = c.messages(); err != nil {
		return err
	}
	p, err := c.params(schedule.Anycast, paramFlags{})
	if err != nil {
		return err
	}
	s.limit = p.Ranks * (p.Ranks - 1) * c.Messages
	var specs []*schedule.Spec
	for p.Root = range p.Ranks {
		spec, err := newSpec(c.Algorithm, p)
		if err != nil {
			return err
		}
		specs = append(specs, spec)
	}
	return s.finish(ctx, toRun{specs: specs})
}

func (c *runAnycastCmd) messages() (n int, size int64, err error) {
	size = 1 << 10
	if c.Size != nil {
		size = int64(*c.Size)
	}
	switch {
	case c.Messages < 0 || c.Messages > maxCasts:
		err = fmt.Errorf("--messages=%d: must be in 0..%d", c.Messages, maxCasts)
	case size > maxCast:
		err = fmt.Errorf("--size=%v: at most %v", byteSize(size), byteSize(maxCast))
	}
	return c.Messages, size, err
}

// maxCasts is the largest number of messages of a rank.
const maxCasts = 1 << 30
