package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// message is the kind of collectives that bring one message from the root to all ranks.
type message struct{}

func (message) command(row ir.Collective) (collectiveCmd, string) {
	return &messageCmd{row: row}, "Broadcast a file, or made-up bytes, and check every rank's copy."
}

func (message) operations(row ir.Collective) []operation {
	return []operation{
		{name: row.Name, collective: row.Name, help: "a broadcast from rank 0"},
		{name: row.Name + "_ack", collective: row.Name, replied: true,
			help: "a broadcast from rank 0, to which every other rank replies when it has the message; rank 0 is timed until it " +
				"has all replies. bcast/mcast-acktree replies by itself; with other algorithms the ranks check in at the root of a " + replies},
		{name: row.Name + "_barrier", collective: row.Name, barrier: true, help: "a broadcast from rank 0, then a barrier"},
	}
}

// messageCmd is the verb of run for a collective of the kind message.
type messageCmd struct {
	row ir.Collective
	fileArg
	Input      string    `placeholder:"FILE" complete:"file" help:"File to broadcast."`
	Size       *byteSize `placeholder:"N" help:"Broadcast N made-up bytes in place of a file; default 1MiB; units B, kB, MB, GB, KiB, MiB, GiB."`
	Output     string    `placeholder:"DIR" complete:"directory" help:"Write the copy of each rank to a file in DIR."`
	Iterations *int      `placeholder:"N" help:"Broadcasts to time; default as many as make 256 MiB, at most 100; one more warms up."`
	Root       *int      `placeholder:"R" help:"Rank that has the message; default 0."`
	Chunks     *int      `placeholder:"F" help:"Chunks that the message is cut into; default by its size."`
	Hosts      *int      `placeholder:"H" help:"Number of hosts that the ranks are on, in blocks: one master per host runs the algorithm, and the other ranks follow it."`

	Delay     string         `default:"none" placeholder:"POLICY" complete:"delay" help:"When the root starts to multicast: none, fixed, adaptive or random-peer."`
	RootDelay *time.Duration `placeholder:"TIME" help:"Time of --delay fixed; default 100us."`
	runFlags
	seenFlags
}

// Help is the long help text.
func (c *messageCmd) Help() string {
	return `Proves the schedule, starts a local process for each rank, and broadcasts the message many times.
Before each broadcast all ranks meet at a barrier. After each broadcast every rank checks the
SHA-256 of its copy. The exit code is 1 if a byte differs.

If the schedule multicasts, the table shows for each rank how its chunks came: by multicast, or in
another way because a datagram was lost or late.

The time of a rank runs from its call to its return. Throughput is the size of the message, divided
by the median time of the slowest rank.

The default algorithm depends on the number of ranks, the size and the transport. With the same
flags, schedgen explain tells which one it is, and why.

Transports:

` + transportTable(runAuto, overMem, overTCP, overMcast, overShm, overHybrid, overVerbs, overAuto) + `
FILE holds a schedule, written by hand or by schedgen emit, that runs in place of an algorithm. It
sets the number of ranks and chunks, and the root.

Examples:

  schedgen run ` + c.row.Name + ` -p 8 --size 16MiB
  schedgen run ` + c.row.Name + ` FILE --size 16MiB
  schedgen run ` + c.row.Name + ` -p 8 --input FILE --loss 0.5 --output DIR`
}

// Run broadcasts.
func (c *messageCmd) Run(ctx context.Context, std stdio) error { return runCommand(ctx, std, c) }

func (c *messageCmd) flags() (*runFlags, *seenFlags) { return &c.runFlags, &c.seenFlags }

func (c *messageCmd) prepare(ctx context.Context, s *session) (r toRun, err error) {
	if s.job, err = c.common(taskRun, c.row.Name); err != nil {
		return r, err
	}
	if err := c.policy(&s.job); err != nil {
		return r, err
	}
	if s.input, err = c.message(); err != nil {
		return r, err
	}
	s.job.Size = s.input.size
	if s.job.Iterations, err = iterations(c.Iterations, defaultIterations(s.job.Size)); err != nil {
		return r, err
	}
	s.limit = s.job.Iterations
	if r, err = c.schedules(ctx, s); err != nil {
		return r, err
	}
	if s.names, err = c.outputs(r.params().Ranks); err != nil {
		return r, err
	}
	s.job.Sum, err = await(ctx, s.input.sum)
	return r, err
}

// delays are the root-delay policies.
var delays = []string{"none", "fixed", "adaptive", "random-peer"}

// policy sets the root-delay policy of the job.
func (c *messageCmd) policy(j *job) error {
	if err := j.Delay.UnmarshalText([]byte(c.Delay)); err != nil {
		return fmt.Errorf("--delay=%s: must be one of %s", c.Delay, strings.Join(delays, ", "))
	}
	switch {
	case c.RootDelay != nil && j.Delay != runtime.DelayFixed:
		return errors.New("--root-delay: needs --delay fixed")
	case c.RootDelay != nil && *c.RootDelay < 0:
		return fmt.Errorf("--root-delay=%v: must not be negative", *c.RootDelay)
	case c.RootDelay != nil:
		j.RootDelay = *c.RootDelay
	case j.Delay == runtime.DelayFixed:
		j.RootDelay = 100 * time.Microsecond
	}
	return nil
}

// defaultMessage is the default length of a message, in bytes.
const defaultMessage = 1 << 20

// maxMessage is the largest length of a message, in bytes. Every rank holds a copy.
const maxMessage = 64 << 30

func (c *messageCmd) message() (*input, error) {
	var in *input
	var err error
	switch {
	case c.Size != nil && c.Input != "":
		return nil, errors.New("--input and --size: give only one of them")
	case c.Input != "":
		if in, err = openInput(c.Input); err != nil {
			return nil, err
		}
	default:
		in = &input{name: "made-up bytes", size: defaultMessage, seed: c.Seed}
		if c.Size != nil {
			in.size = int64(*c.Size)
		}
	}
	if in.size > maxMessage {
		return nil, errors.Join(fmt.Errorf("a message of %v: at most %v", byteSize(in.size), byteSize(maxMessage)), in.close())
	}
	return in, nil
}

// iterations returns the flag's value or its default.
func iterations(flag *int, other int) (int, error) {
	if flag == nil {
		return other, nil
	}
	if *flag < 1 {
		return 0, fmt.Errorf("--iterations=%d: must be at least 1", *flag)
	}
	return *flag, nil
}

func defaultIterations(size int64) int { return int(min(max(256<<20/max(size, 1), 1), 100)) }

func (c *messageCmd) params() paramFlags {
	return paramFlags{Root: c.Root, Chunks: c.Chunks, Hosts: c.Hosts}
}

func (c *messageCmd) read(ctx context.Context, std stdio) error {
	_, err := c.load(ctx, std, &c.runFlags, c.row.Name, c.params())
	return err
}

// schedules chooses the link, the algorithm and the number of chunks, or reads the file.
func (c *messageCmd) schedules(ctx context.Context, s *session) (r toRun, err error) {
	flags := c.params()
	if r.file, err = c.load(ctx, s.std, &c.runFlags, c.row.Name, flags); err != nil {
		return r, err
	}
	if _, err := c.ranks(); err != nil {
		return r, err
	}
	c.delays = c.Delay != "none"
	at, err := c.situation(ctx, s.std, &c.row, s.job.Size, c.Hosts)
	if err != nil {
		return r, err
	}
	if s.job.Link = at.link; !at.link.multicasts() && c.delays {
		return r, fmt.Errorf("--delay: transport %s does not multicast", at.link.Transport)
	}
	if err := c.choose(s.std, &s.job, at.of); err != nil {
		return r, err
	}
	s.job.Algorithm = c.Algorithm
	if r.file == nil {
		spec, err := c.spec(&at, flags, int(s.job.Size))
		r.specs = []*schedule.Spec{spec}
		return r, err
	}
	if chunks := r.params().Chunks; selection.AtLeast(chunks, int(s.job.Size)) > chunks {
		return r, fmt.Errorf("%s cuts the message into %s: a chunk of a message of %v is then longer than %v; at least %d chunks are needed",
			c.File, count(chunks, "chunk"), byteSize(s.job.Size), byteSize(wire.MaxBody), (s.job.Size-1)/wire.MaxBody+1)
	}
	return r, nil
}

// spec returns the algorithm with its parameters, for a message of size bytes.
func (c *messageCmd) spec(at *situation, flags paramFlags, size int) (*schedule.Spec, error) {
	p, err := c.runFlags.params(c.row.Name, flags)
	if err != nil {
		return nil, err
	}
	if p.Chunks == 0 {
		cut, err := at.params(c.Algorithm, &selection.Params{Chunk: c.picked.Chunk, Masters: p.Hosts > 0})
		if err != nil {
			return nil, flagError(err)
		}
		p.Chunks = cut.Chunks
	}
	spec, err := newSpec(c.Algorithm, p)
	if err != nil {
		return nil, err
	}
	chunks := spec.Params().Chunks
	switch enough := selection.AtLeast(chunks, size); {
	case enough == chunks:
		return spec, nil
	case c.Chunks != nil:
		return nil, fmt.Errorf("--chunks=%d: a chunk of a message of %v is then longer than %v; at least %d chunks are needed",
			chunks, byteSize(size), byteSize(wire.MaxBody), (size-1)/wire.MaxBody+1)
	default:
		p.Chunks = enough
		return newSpec(c.Algorithm, p)
	}
}

// outputs makes sure that the ranks can write to the directory of --output. It returns the name of
// each rank's file, or nil without --output.
func (c *messageCmd) outputs(ranks int) ([]string, error) {
	if c.Output == "" {
		return nil, nil
	}
	if err := os.MkdirAll(c.Output, 0o777); err != nil {
		return nil, fmt.Errorf("--output: %w", err)
	}
	probe, err := os.CreateTemp(c.Output, ".schedgen-*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return nil, fmt.Errorf("--output: %w", err)
	}
	base := "message"
	if c.Input != "" {
		base = filepath.Base(c.Input)
	}
	names := make([]string, ranks)
	for rank := range names {
		names[rank] = filepath.Join(c.Output, fmt.Sprintf("%s.rank%d", base, rank))
	}
	return names, nil
}

// table prints for each rank the times of its calls, and how its chunks came if the schedule
// multicasts.
func (message) table(s *session, w io.Writer, t *tally) string {
	fmt.Fprintf(w, "%s: %v in %s, %s\n", s.title(), byteSize(s.job.Size),
		count(s.job.Params.Chunks, "chunk"), count(s.job.Iterations, "iteration"))
	head := ""
	if s.proof.multicasts {
		head = "   how the chunks came"
	}
	fmt.Fprintf(w, "rank\tmedian\tp99\t%s\n", head)
	for rank := range t.ranks {
		r := &t.ranks[rank]
		words := ""
		if rank == s.job.Params.Root {
			words = "   root"
		} else if s.proof.multicasts {
			words = "   " + s.origins(r.outcome)
		}
		if n := r.outcome.Repairs; n > 0 {
			words += fmt.Sprintf(", repaired others %s", count(int(n), "time"))
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", rank, spell(quantile(r.times, 50)), spell(quantile(r.times, 99)), words)
	}
	return s.messageSummary(t)
}

// origins tells how the chunks of a rank came.
func (s *session) origins(o *outcome) string {
	switch all := o.McastChunks + o.PutChunks; {
	case all == 0:
		return "no chunks"
	case o.PutChunks == 0:
		return "all by multicast"
	case o.McastChunks == 0:
		return "all " + s.otherwise()
	default:
		return fmt.Sprintf("%d by multicast, %d %s", o.McastChunks, o.PutChunks, s.otherwise())
	}
}

// otherwise tells how chunks come that no multicast has brought.
func (s *session) otherwise() string {
	switch {
	case s.job.Algorithm == "bcast/mcast-chain":
		return "by chain or repair"
	case s.proof.puts:
		return "by put or repair"
	}
	return "by repair"
}

// messageSummary returns the lines below the table.
func (s *session) messageSummary(t *tally) string {
	var b strings.Builder
	if line := s.multicastLine(t); line != "" {
		fmt.Fprintln(&b, line)
	}
	k := t.skew()
	fmt.Fprintf(&b, "skew: median over ranks %s; first rank %d %+.1f %%, last rank %d %+.1f %%\n",
		spell(k.Median), k.FirstRank, k.FirstPercent, k.LastRank, k.LastPercent)
	slowest := quantile(t.slowest, 50)
	fmt.Fprintf(&b, "throughput: %s to every rank; the slowest rank takes %s (median)\n",
		rate(float64(s.job.Size)/slowest.Seconds()), spell(slowest))
	if r := s.replied(t); r != nil {
		fmt.Fprintf(&b, "all replied: %s after the root's call (median), p99 %s\n", spellSeconds(r.Median), spellSeconds(r.P99))
	}
	return b.String()
}

// multicastLine tells how many chunks came by multicast. If the transport multicasts and the
// algorithm does not, it tells so.
func (s *session) multicastLine(t *tally) string {
	if !s.proof.multicasts {
		if s.job.Link.Transport == overMcast && len(t.ranks) > 1 {
			return fmt.Sprintf("multicast: %s does not use it; --algorithm bcast/mcast-acktree does", s.job.Algorithm)
		}
		return ""
	}
	var by, others uint64
	for rank := range t.ranks {
		if rank != s.job.Params.Root {
			by += t.ranks[rank].outcome.McastChunks
			others += t.ranks[rank].outcome.PutChunks
		}
	}
	switch all := by + others; {
	case all == 0:
		return ""
	case others == 0:
		return fmt.Sprintf("multicast: the root sent each chunk once, and it reached all %s", count(len(t.ranks)-1, "other rank"))
	default:
		return fmt.Sprintf("multicast: brought %d of %d chunks to the other ranks; %d came %s", by, all, others, s.otherwise())
	}
}

// object adds the skew of the ranks and the time of the replies.
func (message) object(s *session, t *tally, o *runObject) {
	o.Skew = newSkewObject(t.skew())
	o.Replied = s.replied(t)
}

func (message) verdict(s *session) string {
	return fmt.Sprintf("SHA-256 %s at every rank after every broadcast", s.job.Sum)
}

func (message) wrong() string { return "wrong data" }

func (message) timed() bool { return true }
