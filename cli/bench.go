package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
)

// benchCmd is the verb bench.
type benchCmd struct {
	Operation string    `arg:"" enum:"${operations}" help:"Operation to time, see above."`
	Size      *byteSize `placeholder:"N" help:"Bytes of a broadcast or a rootless message, or of each block; default 2B; units B, kB, MB, GB, KiB, MiB, GiB."`
	countsFlag
	Iterations *int `placeholder:"N" help:"Operations to time, default 2000, or messages of each loop of anycast_loop, default 10000; a tenth as many, at least 10, warm up."`
	Chunks     *int `placeholder:"F" help:"Chunks that the message is cut into; default by its size. This flag and the next three need --algorithm."`
	source.TreeFlags
	foldFlags
	Dup bool `expert:"" help:"Time a duplicate of the communicator, as Comm.Dup and Comm.Split make it, in place of the communicator itself."`
	runFlags
}

// timedOp is an operation that bench times.
type timedOp struct {
	crew.Operation
	collective string // the collective that the operation calls
	help       string
}

// operations returns the operations that bench can time. Operations that move no bytes come first.
func operations() (all []timedOp) {
	for _, moves := range []bool{false, true} {
		for _, row := range ir.Collectives() {
			if k := kindOf(&row); k != nil && (row.Blocks != nil) == moves {
				all = append(all, k.timed(&row)...)
			}
		}
	}
	return all
}

// operationNamed returns the operation of that name; the zero value if there is none.
func operationNamed(name string) timedOp {
	all := operations()
	if i := slices.IndexFunc(all, func(op timedOp) bool { return op.Name == name }); i >= 0 {
		return all[i]
	}
	return timedOp{}
}

// operationRows returns the operations as --help lists them: name and text.
func operationRows() (rows [][2]string) {
	for _, op := range operations() {
		rows = append(rows, [2]string{op.Name, op.help})
	}
	return rows
}

// Help is the long help text.
func (benchCmd) Help() string {
	return `Times one operation with each algorithm of its collective. --algorithm times one algorithm
alone, and --rules the one that the rules choose.

Ranks are processes of this machine. Before each operation all ranks meet at a barrier that is
not timed. Each rank then measures the time from its call to its return. The time of the
operation is that of the slowest rank. Ranks report nothing until the last operation is over.
A loop of anycast_loop is timed as a whole, and its time is divided by the number of messages.

Operations:

` + terminal.Table(operationRows()) + `
Transports:

` + transportTable(benchAuto, overMem, overTCP, overMcast, overShm, overHybrid, overVerbs, overAuto) + `
Algorithms that multicast are left out if the transport has no multicast, unless --algorithm
names them.

--json prints one object a line: op, algorithm, ranks, bytes, transport, key and encrypted if
true, iterations, and mean_max_us, median_max_us and p99_max_us over the iterations.

Examples:

  schedgen bench barrier -p 8
  schedgen bench bcast_ack -p 8 --size 2KiB --transport mcast
  schedgen bench bcast_ack -p 8 --size 2KiB --transport mcast --key-file key
  schedgen bench anycast_loop -p 16 --size 10B`
}

// benchAuto is the help text of the transport auto of bench.
const benchAuto = "shm if this machine has it, else mcast if that works, else tcp"

// maxBenchIterations bounds the length of the array of times that each rank keeps.
const maxBenchIterations = 1 << 20

// Run measures algorithm by algorithm.
func (c *benchCmd) Run(ctx context.Context, std terminal.Stdio) error {
	base, err := c.job(ctx, std)
	if err != nil {
		return err
	}
	jobs, err := c.plan(ctx, &base, std)
	if err != nil {
		return err
	}
	c.announce(std)
	out := benchOutput{std: std, json: c.JSON}
	// Ranks report their times at the end only, so that drawing the bar disturbs no measurement:
	// each step of the bar is an algorithm.
	bar := terminal.NewProgress(std, len(jobs)*base.Samples(), c.Operation)
	for i := range jobs {
		t, err := c.measure(ctx, std, &jobs[i], bar)
		if err == nil {
			err = out.printResult(&jobs[i], t)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", jobs[i].Algorithm, err), out.flush())
		}
	}
	return out.flush()
}

// job checks the flags and returns what the jobs of all algorithms share.
func (c *benchCmd) job(ctx context.Context, std terminal.Stdio) (crew.Job, error) {
	op := operationNamed(c.Operation)
	row := rowOf(op.collective)
	j, err := c.common(crew.TaskBench, row.Name)
	if err != nil {
		return j, err
	}
	j.Operation, j.Iterations, j.Size, j.Dup = op.Operation, 2000, 2, c.Dup
	switch {
	case c.Iterations != nil:
		j.Iterations = *c.Iterations
	case op.Loop:
		j.Iterations = 10_000
	}
	switch {
	case c.Size != nil && row.Blocks == nil:
		std.Idle("size", source.NoMessage(row.Name))
	case c.Size != nil:
		j.Size = int64(*c.Size)
	}
	if err := c.foldFlags.set(&j, c.Size != nil); err != nil {
		return j, err
	}
	most := int64(min(maxMessage, math.MaxInt))
	if row.Published {
		most = maxPublished
	}
	switch {
	case j.Iterations < 1 || j.Iterations > maxBenchIterations:
		err = fmt.Errorf("--iterations=%d: must be in 1..%d", j.Iterations, maxBenchIterations)
	case j.Size > most:
		err = fmt.Errorf("--size=%v: at most %v", byteSize(j.Size), byteSize(most))
	case hasMessage(row) && c.Ranks != nil && c.Ranks.Lo <= maxRunRanks:
		if err = c.countsFlag.set(&j, c.Size, c.Ranks.Lo); err == nil {
			_, err = mostBytes(&j, c.Ranks.Lo, 0)
		}
	case !hasMessage(row):
		err = c.countsFlag.set(&j, c.Size, 0)
	}
	if err != nil {
		return j, err
	}
	if row.Blocks == nil {
		j.Size = 0
	}
	j.Link, err = c.benchLink(ctx, std, row)
	return j, err
}

// benchLink returns the link as run does, but --transport=auto is a name, too.
func (c *benchCmd) benchLink(ctx context.Context, std terminal.Stdio, row *ir.Collective) (crew.Link, error) {
	if c.Transport == "auto" {
		c.Transport = c.auto()
	}
	if !hasMessage(row) {
		return c.quietLink(ctx, std)
	}
	l, _, err := c.link(ctx, std)
	return l, err
}

// auto returns the transport shm if this machine has it and no flag asks for a feature that shm
// lacks, and "" otherwise.
func (f *runFlags) auto() string {
	shared := runFlags{Transport: overShm, Loss: f.Loss, Interface: f.Interface}
	if f.Coordinator == "" && !f.IPv6 && f.KeyFile == "" && !f.Encrypt && shared.fits() == nil && crew.CanShare() {
		return overShm
	}
	return ""
}

// measure runs one algorithm.
func (c *benchCmd) measure(ctx context.Context, std terminal.Stdio, j *crew.Job, bar terminal.Progress) (*crew.Tally, error) {
	s := &session{flags: &c.runFlags, std: std, Plan: crew.Plan{Job: *j}}
	s.begin()
	defer s.Close()
	if err := s.Open(ctx); err != nil {
		return nil, runError(err)
	}
	t := crew.NewTally(j.Params.Ranks, bar.Add)
	if err := s.execute(ctx, t, bar); err != nil {
		return nil, err
	}
	if wrong := t.Wrong(); len(wrong) > 0 {
		return nil, terminal.Negative(fmt.Sprintf("wrong data at %s; rank %d: %s",
			command.Count(len(wrong), "rank"), wrong[0], t.Ranks[wrong[0]].Outcome.Wrong.First))
	}
	return t, nil
}
