package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// runBcastCmd is the verb run bcast.
type runBcastCmd struct {
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
func (runBcastCmd) Help() string {
	return `The schedule is proved first. Then local processes are started, one a rank, and one of them
broadcasts the message to the others; before every broadcast all ranks meet at a barrier.
SHA-256 is checked at every rank after every broadcast; the exit code is 1 if a byte differs.

Where the schedule multicasts, a line tells for each rank how its chunks came: by multicast, or
otherwise because a datagram was lost or late.

Times are from a rank's call to its return. Throughput is the message's size by the median,
over the broadcasts, of the time of the slowest rank.

Default algorithm: bcast/mcast-chain; over tcp bcast/binomial below 64 KiB, else bcast/chain.

Transports:

` + transportTable(runAuto, overMem, overTCP, overMcast, overShm, overHybrid, overVerbs, overAuto) + `
A FILE that holds a schedule, written by hand or by schedgen emit, is proved and run in place of an
algorithm. It says itself how many ranks and chunks there are and which rank is the root.

Examples:

  schedgen run bcast -p 8 --size 16MiB --algorithm mcast-acktree
  schedgen run bcast FILE --size 16MiB
  schedgen run bcast -p 8 --input FILE --loss 0.5 --output DIR`
}

// Run broadcasts.
func (c *runBcastCmd) Run(ctx context.Context, std stdio) (err error) {
	s := &session{flags: &c.runFlags, seen: c.seenFlags, std: std}
	r, err := c.prepare(ctx, s)
	defer func() { err = errors.Join(err, s.input.close()) }()
	if err != nil {
		return err
	}
	return s.finish(ctx, r)
}

// prepare turns the flags into a session's job and what is run.
func (c *runBcastCmd) prepare(ctx context.Context, s *session) (r toRun, err error) {
	if s.job, err = c.common("bcast"); err != nil {
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
func (c *runBcastCmd) policy(j *job) error {
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

func (c *runBcastCmd) message() (*input, error) {
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

// schedules chooses what is run: the link, the algorithm and the chunks.
func (c *runBcastCmd) schedules(ctx context.Context, s *session) (r toRun, err error) {
	flags := paramFlags{Root: c.Root, Chunks: c.Chunks, Hosts: c.Hosts}
	if r.file, err = c.load(ctx, s.std, &c.runFlags, schedule.Bcast, flags); err != nil {
		return r, err
	}
	if _, err := c.ranks(); err != nil {
		return r, err
	}
	c.delays = c.Delay != "none"
	at, err := c.situation(ctx, s.std, schedule.Bcast, s.job.Size, c.Hosts)
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
func (c *runBcastCmd) spec(at *situation, flags paramFlags, size int) (*schedule.Spec, error) {
	p, err := c.params(schedule.Bcast, flags)
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
func (c *runBcastCmd) outputs(ranks int) ([]string, error) {
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
