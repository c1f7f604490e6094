package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// blocks is the kind of collectives that move or fold blocks, such as scatter, allgather, alltoall
// and allreduce.
type blocks struct{}

func (blocks) command(row ir.Collective) (collectiveCmd, string) {
	return newBlocksCmd(row), fmt.Sprintf("Run %ss of made-up blocks and check every byte of the results.", row.Name)
}

func (blocks) operations(row ir.Collective) []operation {
	help := withArticle(row.Name) + " with blocks of --size"
	if row.Rooted {
		help += ", " + row.RootWord() + " rank 0"
	}
	return []operation{{name: row.Name, collective: row.Name, help: help}}
}

// blocksCmd is the verb of run for a collective of the kind blocks.
type blocksCmd struct {
	row ir.Collective
	fileArg
	Size *byteSize `placeholder:"N" help:"Bytes of one block; default 64KiB; units B, kB, MB, GB, KiB, MiB, GiB."`
	countsFlag
	Iterations   *int `placeholder:"N" help:"Operations to time; default as many as move 256 MiB to or from a rank, at most 100; one more warms up."`
	kong.Plugins      // --root or --origin if the collective has one, and the flags of folds
	root         *rootFlag
	origin       *originFlag
	fold         *foldFlags
	Chunks       *int `placeholder:"F" help:"Chunks that each block is cut into; default 1."`
	Hosts        *int `placeholder:"H" help:"Number of hosts that the ranks are on, in blocks: one master per host runs the algorithm, and the other ranks follow it."`
	runFlags
	seenFlags
}

// rootFlag is the flag of rooted collectives.
type rootFlag struct {
	Root *int `placeholder:"R" help:"Root of the operation; default 0."`
}

// originFlag is the flag of collectives in which one rank asks the others.
type originFlag struct {
	Origin *int `placeholder:"R" help:"Rank that asks the others; default 0."`
}

func newBlocksCmd(row ir.Collective) *blocksCmd {
	c := &blocksCmd{row: row, root: new(rootFlag), origin: new(originFlag), fold: new(foldFlags)}
	switch {
	case row.Origin:
		c.Plugins = append(c.Plugins, c.origin)
	case row.Rooted:
		c.Plugins = append(c.Plugins, c.root)
	}
	if row.Inputs != nil {
		c.Plugins = append(c.Plugins, c.fold)
	}
	return c
}

// Help is the long help text.
func (c *blocksCmd) Help() string {
	root, counts, made, op := "", "", "", ""
	lengths := `With --counts each block has its own length, which may be 0, as in MPI's ` + c.row.Name + `v. Each rank then
knows only the lengths of the blocks that it holds or receives. So algorithms in which ranks pass on
blocks of others cannot run, unless all ranks receive all blocks.
`
	if c.row.Inputs != nil {
		made, lengths = ". They are numbers of --type whose results are exact", ""
		op = "\n  schedgen run " + c.row.Name + " -p 5 --size 10KB --op max --type int32"
	}
	if c.row.Rooted {
		root = " --" + c.row.RootWord() + " 3"
	}
	if c.row.Blocks(2) > 1 && c.row.Inputs == nil {
		counts = "\n  schedgen run " + c.row.Name + " -p 5 --counts 10KB,0,5B,1,10KB"
	}
	return `Proves the schedule, starts a local process for each rank, and runs the operation many times. Before
each operation all ranks meet at a barrier, and each fills its blocks with bytes that depend on the
seed, the iteration and the block` + made + `. Afterwards each rank compares every byte of
the blocks that it must have. The exit code is 1 if a byte differs.

` + lengths + `
The time of a rank runs from its call to its return. Throughput is the number of bytes that all
ranks together receive, divided by the median time of the slowest rank.

Transports:

` + transportTable(runAuto, overMem, overTCP, overMcast, overShm, overHybrid, overVerbs, overAuto) + `
FILE holds a schedule, written by hand or by schedgen emit, that runs in place of an algorithm. It
sets the number of ranks and chunks.

Examples:

  schedgen run ` + c.row.Name + ` -p 5 --size 10KB` + root + counts + op + `
  schedgen run ` + c.row.Name + ` FILE --size 10KB`
}

// Run runs the collective.
func (c *blocksCmd) Run(ctx context.Context, std stdio) error { return runCommand(ctx, std, c) }

func (c *blocksCmd) flags() (*runFlags, *seenFlags) { return &c.runFlags, &c.seenFlags }

func (c *blocksCmd) params() paramFlags {
	return paramFlags{Root: c.root.Root, Origin: c.origin.Origin, Chunks: c.Chunks, Hosts: c.Hosts}
}

func (c *blocksCmd) read(ctx context.Context, std stdio) error {
	_, err := c.load(ctx, std, &c.runFlags, c.row.Name, c.params())
	return err
}

// defaultBlock is the default length of a block, in bytes.
const defaultBlock = 64 << 10

func (c *blocksCmd) prepare(ctx context.Context, s *session) (r toRun, err error) {
	if s.job, err = c.common(taskRun, c.row.Name); err != nil {
		return r, err
	}
	if s.job.Size = defaultBlock; c.Size != nil {
		s.job.Size = int64(*c.Size)
	}
	if err = c.fold.set(&s.job, c.Size != nil); err != nil {
		return r, err
	}
	if r, err = c.schedules(ctx, s); err != nil {
		return r, err
	}
	p := r.params()
	most, err := s.job.mostBytes(p.Ranks, p.Root)
	if err != nil {
		return r, err
	}
	s.job.Iterations, err = iterations(c.Iterations, defaultIterations(most))
	s.limit = s.job.Iterations
	return r, err
}

// schedules chooses the link, the algorithm and the number of chunks, or reads the file.
func (c *blocksCmd) schedules(ctx context.Context, s *session) (r toRun, err error) {
	flags := c.params()
	if r.file, err = c.load(ctx, s.std, &c.runFlags, c.row.Name, flags); err != nil {
		return r, err
	}
	ranks, err := c.ranks()
	if err != nil {
		return r, err
	}
	if err := c.countsFlag.set(&s.job, c.Size, ranks); err != nil {
		return r, err
	}
	if c.Loss != nil && c.Algorithm != "" && !c.casts() {
		return r, errLoss()
	}
	at, err := c.situation(ctx, s.std, &c.row, s.job.chosenFor(ranks), c.Hosts)
	if err != nil {
		return r, err
	}
	s.job.Link = at.link
	named := c.Algorithm != ""
	if err := c.choose(s.std, &s.job, at.of); err != nil {
		return r, err
	}
	if !named {
		c.takeDirect(&s.job, ranks)
	}
	s.job.Algorithm = c.Algorithm
	if !c.casts() {
		if c.Loss != nil {
			return r, errLoss()
		}
		if s.job.Link.Transport == overHybrid {
			s.job.Link.Interface = ""
		}
	}
	if r.file != nil {
		if s.job.Counts != nil && r.file.Relays(func(rank int) ir.Program { return r.file.Programs[rank] }) {
			return r, s.job.relayed(c.File, false, ranks)
		}
		return r, fitsFrames(r.file.BlockChunks(), s.job.Size, func(chunks int) string {
			return fmt.Sprintf("%s cuts each block into %s", c.File, count(chunks, "chunk"))
		})
	}
	spec, err := c.spec(flags, s.job.Size)
	if err == nil && s.job.Counts != nil && spec.Relays() {
		err = s.job.relayed(c.Algorithm, spec.Params().Hosts > 0, ranks)
	}
	r.specs = []*schedule.Spec{spec}
	return r, err
}

// casts reports whether the algorithm or the schedule of the file multicasts.
func (c *blocksCmd) casts() bool {
	if c.file != nil {
		return deliveries(c.file).multicasts
	}
	return multicasts(c.Algorithm)
}

// spec returns the algorithm with its parameters, for blocks of size bytes.
func (c *blocksCmd) spec(flags paramFlags, size int64) (*schedule.Spec, error) {
	p, err := c.runFlags.params(c.row.Name, flags)
	if err != nil {
		return nil, err
	}
	if a, err := algorithm(c.Algorithm); c.Chunks == nil && p.Chunks == 0 && !(err == nil && a.CutsItself() && c.row.Inputs != nil) {
		p.Chunks = selection.AtLeast(1, int(size))
	}
	if err := fitsFrames(p.Chunks, size, func(chunks int) string { return fmt.Sprintf("--chunks=%d", chunks) }); err != nil {
		return nil, err
	}
	return newSpec(c.Algorithm, p)
}

// fitsFrames returns an error if a block of size bytes, cut into the given number of chunks, has
// chunks that do not fit a frame. whose names the source of that number.
func fitsFrames(chunks int, size int64, whose func(chunks int) string) error {
	if chunks < 1 || selection.AtLeast(chunks, int(size)) <= chunks {
		return nil
	}
	return fmt.Errorf("%s: a chunk of a block of %v is then longer than %v; at least %d chunks are needed",
		whose(chunks), byteSize(size), byteSize(wire.MaxBody), (size-1)/wire.MaxBody+1)
}

// table prints for each rank the times of its calls, and how its chunks came if the schedule
// multicasts.
func (blocks) table(s *session, w io.Writer, t *tally) string {
	j := &s.job
	row := rowOf(j.Collective)
	cut := ""
	if j.Params.Chunks > 1 {
		cut = fmt.Sprintf(" in %s each", count(j.Params.Chunks, "chunk"))
	}
	fmt.Fprintf(w, "%s: %s of %s%s, %s\n", s.title(), count(row.Blocks(j.Params.Ranks), "block"), j.lengths(), cut,
		count(j.Iterations, "iteration"))
	fmt.Fprint(w, "rank\tmedian\tp99\t")
	if s.proof.multicasts {
		fmt.Fprint(w, "   how the chunks came")
	}
	fmt.Fprintln(w)
	for rank := range t.ranks {
		r := &t.ranks[rank]
		var words []string
		if row.Rooted && rank == j.Params.Root {
			words = append(words, row.RootWord())
		}
		if s.proof.multicasts {
			words = append(words, s.origins(r.outcome))
		}
		if n := r.outcome.Repairs; n > 0 {
			words = append(words, "repaired others "+count(int(n), "time"))
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t", rank, spell(quantile(r.times, 50)), spell(quantile(r.times, 99)))
		if len(words) > 0 {
			fmt.Fprintf(w, "   %s", strings.Join(words, ", "))
		}
		fmt.Fprintln(w)
	}
	k := t.skew()
	slowest := quantile(t.slowest, 50)
	return fmt.Sprintf("skew: median over ranks %s; first rank %d %+.1f %%, last rank %d %+.1f %%\n"+
		"throughput: %s to all ranks together; the slowest rank takes %s (median)\n",
		spell(k.Median), k.FirstRank, k.FirstPercent, k.LastRank, k.LastPercent,
		rate(float64(moved(j))/slowest.Seconds()), spell(slowest))
}

// moved returns the total number of bytes of blocks that ranks want and do not hold.
func moved(j *job) (n int64) {
	row, ranks, root := rowOf(j.Collective), j.Params.Ranks, j.Params.Root
	for rank := range ranks {
		held, wanted := row.Held(ranks, root, rank), row.Wanted(ranks, root, rank)
		for i := range wanted.Count {
			if block := wanted.At(i); held.Index(block) < 0 {
				n += j.length(block)
			}
		}
	}
	return n
}

// object adds the skew of the ranks.
func (blocks) object(_ *session, t *tally, o *runObject) { o.Skew = newSkewObject(t.skew()) }

func (blocks) verdict(s *session) string {
	return fmt.Sprintf("every byte of every block is right at every rank after every %s", s.job.Collective)
}

func (blocks) wrong() string { return "wrong data" }

func (blocks) timed() bool { return true }

// rankBlocksCmd is the verb of rank for a collective of the kind blocks.
type rankBlocksCmd struct {
	seatFlags
	blocksCmd
}

func (blocks) seat(row ir.Collective) (any, string) {
	return &rankBlocksCmd{blocksCmd: *newBlocksCmd(row)}, fmt.Sprintf("Take part in %ss as one rank.", row.Name)
}

// Help is the long help text.
func (c *rankBlocksCmd) Help() string {
	return fmt.Sprintf(`Runs one rank of %[2]s. Start it once for each rank, with the same flags. A launcher may set --rank
and -p by its variables: mpirun, srun, flux run, PALS, torchrun or Kubernetes. The ranks meet at
--coordinator, an address of rank 0, or else where the launcher's variables say. Each rank compares
every byte of its blocks. Rank 0 prints the results of all ranks.

Transports:

%[3]s
Example:

  schedgen rank %[1]s -p 15 --rank 3 --coordinator 10.77.0.1:7777 \
    --size 10KB
  mpirun -n 4 schedgen rank %[1]s --transport tcp --size 10KB`,
		c.row.Name, withArticle(c.row.Name), transportTable(runAuto, overTCP, overMcast, overHybrid, overVerbs, overAuto))
}

// Run takes part as one rank.
func (c *rankBlocksCmd) Run(ctx context.Context, std stdio) error {
	return takeSeat(ctx, std, &c.seatFlags, &c.blocksCmd)
}
