package main

import (
	"context"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/ir"
)

// published is the kind of collectives in which any rank publishes messages at any time and the
// others receive them.
type published struct{}

func (published) command(row ir.Collective) (collectiveCmd, string) {
	return &publishCmd{row: row}, "Publish messages at every rank and check what the others receive."
}

// seat returns nil: ranks that are started one by one publish the addresses of their pages by such
// messages.
func (published) seat(ir.Collective) (any, string) { return nil, "" }

func (published) operations(row ir.Collective) []operation {
	return []operation{
		{name: row.Name, collective: row.Name,
			help: "a rootless message that rank 0 publishes and every other rank takes; rank 0 does not wait for the others"},
		{name: row.Name + "_loop", collective: row.Name, loop: true,
			help: "rank 0 publishes --iterations rootless messages in a tight loop; the time until a rank has the last one, divided " +
				"by the number of messages; four loops (paper 001, section 3.1)"},
	}
}

// publishCmd is the verb of run for a collective of the kind published.
type publishCmd struct {
	row      ir.Collective
	Messages int       `default:"1000" placeholder:"N" help:"Messages that each rank publishes; default 1000."`
	Size     *byteSize `placeholder:"N" help:"Bytes of a message; default 1KiB; units B, kB, MB, GB, KiB, MiB, GiB."`
	runFlags
	seenFlags
}

// Help is the long help text.
func (c *publishCmd) Help() string {
	return `Proves the schedules of all origins, and starts a local process for each rank. Each rank publishes
its messages while it receives those of all others. Every message must arrive exactly once,
unchanged and in the order of its origin; otherwise the exit code is 1.

schedgen explain tells the default algorithm.

Transports:

` + transportTable(runAuto, overMem, overTCP, overMcast, overShm, overHybrid, overVerbs, overAuto) + `
Example:

  schedgen run ` + c.row.Name + ` -p 8 --messages 1000 --size 1KiB`
}

// maxCast is the largest length of a rootless message, in bytes. Every rank on its way holds a
// copy.
const maxCast = 1 << 30

// Run publishes and receives.
func (c *publishCmd) Run(ctx context.Context, std stdio) error { return runCommand(ctx, std, c) }

func (c *publishCmd) flags() (*runFlags, *seenFlags) { return &c.runFlags, &c.seenFlags }

func (c *publishCmd) prepare(ctx context.Context, s *session) (r toRun, err error) {
	if s.job, err = c.common(taskRun, c.row.Name); err != nil {
		return r, err
	}
	at, err := c.situation(ctx, s.std, &c.row, 0, nil)
	if err != nil {
		return r, err
	}
	s.job.Link = at.link
	if err := c.choose(s.std, &s.job, at.of); err != nil {
		return r, err
	}
	if s.job.Messages, s.job.Size, err = c.messages(); err != nil {
		return r, err
	}
	p, err := c.params(c.row.Name, paramFlags{})
	if err != nil {
		return r, err
	}
	s.limit = p.Ranks * (p.Ranks - 1) * c.Messages
	for p.Root = range p.Ranks {
		spec, err := newSpec(c.Algorithm, p)
		if err != nil {
			return r, err
		}
		r.specs = append(r.specs, spec)
	}
	return r, nil
}

func (c *publishCmd) messages() (n int, size int64, err error) {
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

// table prints for each rank the numbers of messages published and received, and the rate.
func (published) table(s *session, w io.Writer, t *tally) string {
	fmt.Fprintf(w, "%s: %s of %v from each of %s\n", s.title(), count(s.job.Messages, "message"),
		byteSize(s.job.Size), count(len(t.ranks), "rank"))
	fmt.Fprintln(w, "rank\tpublished\treceived\ttime\tmessages/s\tbytes\t")
	for rank := range t.ranks {
		o := t.ranks[rank].outcome
		perSecond := float64(o.Received) / o.Elapsed.Seconds()
		fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%.0f\t%s\t\n", rank, s.job.Messages, o.Received, spell(o.Elapsed),
			perSecond, rate(perSecond*float64(s.job.Size)))
	}
	return ""
}

func (published) object(*session, *tally, *runObject) {}

func (published) verdict(*session) string {
	return "every message came exactly once, unchanged and in its origin's order"
}

func (published) wrong() string { return "wrong messages" }

func (published) timed() bool { return false }
