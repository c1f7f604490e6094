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

// message is the kind of the collectives that bring one message from the root to all ranks.
type message struct{}

func (message) command(row ir.Collective) (collectiveCmd, string) {
	return &messageCmd{row: row}, "Broadcast a file, or bytes made up, and check what arrives."
}

func (message) operations(row ir.Collective) []operation {
	return []operation{
		{name: row.Name, collective: row.Name, help: "a broadcast from rank 0"},
		{name: row.Name + "_ack", collective: row.Name, replied: true,
			help: "a broadcast from rank 0 to which every other rank replies once it has the message; timed at rank 0, until it " +
				"has all replies. bcast/mcast-acktree replies by itself; after the others the ranks check in at the root of a " + replies},
		{name: row.Name + "_barrier", collective: row.Name, barrier: true, help: "a broadcast from rank 0, then a barrier"},
	}
}

// messageCmd is the verb of run for a collective of the kind message.
type messageCmd struct {
	row ir.Collective
	fileArg
	Input      string    `placeholder:"FILE" complete:"file" help:"File to broadcast."`
	Size       *byteSize `placeholder:"N" help:"Broadcast N bytes made up in place of a file, default 1MiB; units B, kB, MB, GB, KiB, MiB, GiB."`
	Output     string    `placeholder:"DIR" complete:"directory" help:"Write what each rank has received to files in DIR."`
	Iterations *int      `placeholder:"N" help:"Broadcasts that are timed, default as many as make 256 MiB, at most 100; one more warms up."`
	Root       *int      `placeholder:"R" help:"Rank that has the file, default 0."`
	Chunks     *int      `placeholder:"F" help:"Chunks that the message is cut into, default by its size."`
	Hosts      *int      `placeholder:"H" help:"Blocks of ranks that share a host: masters run the algorithm, the others follow."`

	Delay     string         `default:"none" placeholder:"POLICY" complete:"delay" help:"When the root starts to multicast: none, fixed, adaptive or random-peer."`
	RootDelay *time.Duration `placeholder:"TIME" help:"Time of --delay fixed, default 100us."`
	runFlags
	seenFlags
}

// Help is the long help text.
func (c *messageCmd) Help() string {
	return `The schedule is proved first. Then local processes are started, one a rank, and one of them
broadcasts the message to the others; before every broadcast all ranks meet at a barrier.
SHA-256 is checked at every rank after every broadcast; the exit code is 1 if a byte differs.

Where the schedule multicasts, a line tells for each rank how its chunks came: by multicast, or
otherwise because a datagram was lost or late.

Times are from a rank's call to its return. Throughput is the message's size by the median,
over the broadcasts, of the time of the slowest rank.

The default algorithm depends on the ranks, the size and the transport: schedgen explain says for the
same flags which one it is, and why.

Transports:

` + transportTable(runAuto, overMem, overTCP, overMcast, overShm, overHybrid, overVerbs, overAuto) + `
A FILE that holds a schedule, written by hand or by schedgen emit, is proved and run in place of an
algorithm. It says itself how many ranks and chunks there are and which rank is the root.

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

// policy puts the root-delay policy into the job.
func (c *messageCmd) policy(j *job) error {
	if err := j.Delay.UnmarshalText([]byte(c.Delay)); err != nil {
		return fmt.Errorf("--delay=%s: must be one of %s", c.Delay, strings.Join(delays, ", "))
	}
	switch {
	case c.RootDelay != nil && j.Delay != runtime.DelayFixed:
		return errors.New("--root-delay: only with --delay fixed")
	case c.RootDelay != nil && *c.RootDelay < 0:
		return fmt.Errorf("--root-delay=%v: must not be negative", *c.RootDelay)
	case c.RootDelay != nil:
		j.RootDelay = *c.RootDelay
	case j.Delay == runtime.DelayFixed:
		j.RootDelay = 100 * time.Microsecond
	}
	return nil
}

// defaultMessage is how many bytes are broadcast where no flag says what.
const defaultMessage = 1 << 20

// maxMessage is the largest message; every rank holds one.
const maxMessage = 64 << 30

func (c *messageCmd) message() (*input, error) {
	var in *input
	var err error
	switch {
	case c.Size != nil && c.Input != "":
		return nil, errors.New("--input and --size: give one of them")
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

// schedules chooses what is run: the link, the algorithm and the chunks.
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
		return r, fmt.Errorf("--delay: %s has no multicast that could be delayed", at.link.Transport)
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
		return r, fmt.Errorf("%s cuts the message into %s: of %v that is more than %v in each; write it for %d or more",
			c.File, count(chunks, "chunk"), byteSize(s.job.Size), byteSize(wire.MaxBody), (s.job.Size-1)/wire.MaxBody+1)
	}
	return r, nil
}

// spec returns the algorithm with its parameters, for a message of so many bytes.
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
		return nil, fmt.Errorf("--chunks=%d: of %v that is more than %v in each; give %d or more",
			chunks, byteSize(size), byteSize(wire.MaxBody), (size-1)/wire.MaxBody+1)
	default:
		p.Chunks = enough
		return newSpec(c.Algorithm, p)
	}
}

// outputs makes sure that the ranks can write to the output directory and
// returns the names of their files; nil if there are to be none.
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

// table says of each rank how long its calls took, and how its chunks came.
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

// origins says how a rank's chunks came.
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

// otherwise says how chunks come that a multicast has not brought.
func (s *session) otherwise() string {
	switch {
	case s.job.Algorithm == "bcast/mcast-chain":
		return "by chain or repair"
	case s.proof.puts:
		return "by put or repair"
	}
	return "by repair"
}

// messageSummary says what the ranks together took.
func (s *session) messageSummary(t *tally) string {
	var b strings.Builder
	if line := s.multicastLine(t); line != "" {
		fmt.Fprintln(&b, line)
	}
	k := t.skew()
	fmt.Fprintf(&b, "skew: median over ranks %s; first rank %d %+.1f %%, last rank %d %+.1f %%\n",
		spell(k.Median), k.FirstRank, k.FirstPercent, k.LastRank, k.LastPercent)
	slowest := quantile(t.slowest, 50)
	fmt.Fprintf(&b, "throughput: %s to every rank, the last having all after %s (median)\n",
		rate(float64(s.job.Size)/slowest.Seconds()), spell(slowest))
	if r := s.replied(t); r != nil {
		fmt.Fprintf(&b, "all replied: %s after the root's call (median), p99 %s\n", spellSeconds(r.Median), spellSeconds(r.P99))
	}
	return b.String()
}

// multicastLine says what multicasts have brought to all ranks, or that there are none where there
// could be.
func (s *session) multicastLine(t *tally) string {
	if !s.proof.multicasts {
		if s.job.Link.Transport == overMcast && len(t.ranks) > 1 {
			return fmt.Sprintf("multicast: %s sends none; --algorithm bcast/mcast-acktree does", s.job.Algorithm)
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
		return fmt.Sprintf("multicast: the root sent each chunk once, and it came to all %s", count(len(t.ranks)-1, "other rank"))
	default:
		return fmt.Sprintf("multicast: it brought %d of %d chunks to the other ranks; %d came %s", by, all, others, s.otherwise())
	}
}

// object adds the skew of the ranks, and the time of the replies.
func (message) object(s *session, t *tally, o *runObject) {
	o.Skew = newSkewObject(t.skew())
	o.Replied = s.replied(t)
}

func (message) verdict(s *session) string {
	return fmt.Sprintf("SHA-256 %s at every rank after every broadcast", s.job.Sum)
}

func (message) wrong() string { return "wrong data" }

func (message) timed() bool { return true }
