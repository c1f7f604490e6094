package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// simCmd is the verb sim.
type simCmd struct {
	source.Args
	Size sizeRange `default:"1B" placeholder:"SIZE" help:"Bytes of one block, or a range LO..HI; a broadcast has one block, its message; default 1B; units B, kB, MB, GB, KiB, MiB, GiB."`
	Runs int       `default:"1" placeholder:"N" help:"Runs of each number of ranks and size, with consecutive seeds."`
	Seed uint64    `default:"1" help:"Seed of the first run."`

	machineFlags
	faultFlags

	PerRank bool   `help:"Also print when each rank calls and returns in the first run."`
	Path    bool   `help:"Also print the critical path of the first run."`
	Loads   bool   `models:"links,network" help:"With --model links or --network: also print the messages and bytes that crossed each link in the first run."`
	JSON    bool   `name:"json" help:"Print an array of objects."`
	CSV     string `name:"csv" placeholder:"FILE" help:"Also write the table as CSV to FILE; - writes it to the standard output in place of the table."`
	Plot    string `placeholder:"FILE" help:"Also draw the times as SVG to FILE, or with - to the standard output: over the ranks or sizes of a range, else the return of each rank."`
}

// Help is the long help text.
func (simCmd) Help() string {
	return `Runs a schedule on a modelled machine, in virtual time, and prints when the last call returns.
Equal arguments give equal numbers on every machine.

Models, which docs/models.md describes:

` + terminal.Table([][2]string{
		{"loggp", "CPUs and interfaces with latency --L, overhead --o, gaps --g and --G, and overhead a byte --O"},
		{"linear", "that of paper 004: a message of n bytes takes --t0 and n times --td"},
		{"links", "hosts at a switch, with links of --rate and --delay, and CPUs with overhead --o"},
		{"network", "the network of --network, whose links messages cross one after another, and CPUs with overhead --o"},
	}) + `
--size is the length of one block. A broadcast has one block, its message. Scatter, gather and
allgather have one for each rank, alltoall one from each rank to each. A message of several chunks
is one send, as long as all its chunks. In a collective that folds, a message is as long as the
block or chunk that it contributes to, and a fold takes the CPU --fold for each byte.

A range of -p or --size runs every number of the range, or 64 numbers that are evenly spaced on a
logarithmic scale. With --runs the table shows the distribution over the seeds. FILE may be text,
JSON, GOAL, MSCCL XML or a Chakra trace; for MSCCL XML --size is the length of a chunk.

Examples:

  schedgen sim bcast/mcast-chain -p 1024 --L 2.5us --o 1.5us --g 1us \
    --G 6ns --size 2 --loss 0.5 --runs 1000
  schedgen sim barrier/dissemination -p 2..65536 --degree 2 \
    --csv times.csv --plot times.svg
  schedgen sim bcast/symmetric -p 2..16 --size 512KiB --model linear \
    --t0 50us --td 80ns
  schedgen sim bcast/binomial -p 1048576
  schedgen sim allgather/ring --network two-sites.net --size 1MB --loads`
}

// Run simulates the schedules that the arguments name and prints the results.
func (c *simCmd) Run(ctx context.Context, std terminal.Stdio) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := c.networkFlag.load(ctx, std, c.Source); err != nil {
		return err
	}
	points, err := c.points(ctx, std)
	if err != nil {
		return err
	}
	bar := terminal.NewProgress(std, len(points)*c.Runs, "simulating")
	for _, p := range points {
		if err := c.simulate(ctx, p, bar); err != nil {
			return err
		}
	}
	bar.Clear()
	return c.write(terminal.NewWriter(ctx, std.Out), points)
}

// write writes the files that the flags name and prints the table, unless one of the files is the
// standard output.
func (c *simCmd) write(out io.Writer, points []*point) error {
	if c.CSV != "" {
		if err := terminal.WriteTo("csv", c.CSV, out, func(w io.Writer) error { return writeSimCSV(w, points) }); err != nil {
			return err
		}
	}
	if c.Plot != "" {
		if err := terminal.WriteTo("plot", c.Plot, out, func(w io.Writer) error { return c.draw(w, points) }); err != nil {
			return err
		}
	}
	if c.CSV == "-" || c.Plot == "-" {
		return nil
	}
	return c.print(out, points)
}

func (c *simCmd) check() error {
	if c.Runs < 1 {
		return fmt.Errorf("--runs=%d: must be at least 1", c.Runs)
	}
	return c.checkOutput()
}

// checkOutput returns an error if two flags would write to the standard output and one of them
// needs it alone.
func (c *simCmd) checkOutput() error {
	alone := ""
	for _, f := range []struct {
		name         string
		given, alone bool
	}{
		{"--csv=-", c.CSV == "-", true},
		{"--plot=-", c.Plot == "-", true},
		{"--json", c.JSON, false},
		{"--per-rank", c.PerRank, false},
		{"--path", c.Path, false},
		{"--loads", c.Loads, false},
	} {
		switch {
		case !f.given:
		case alone != "":
			return fmt.Errorf("%s: not with %s, which needs the standard output for itself", f.name, alone)
		case f.alone:
			alone = f.name
		}
	}
	return nil
}

// point is one number of ranks and one size.
type point struct {
	name     string
	programs sim.Programs
	header   ir.Header
	bytes    int
	first    *sim.Result // result of the first seed
	spans    []sim.Time  // makespans of the runs in which all calls returned
	never    int         // number of other runs
	repairs  bool        // losses are repaired
	counts   sim.Counts  // sums over all runs
}

// points returns the points to simulate.
func (c *simCmd) points(ctx context.Context, std terminal.Stdio) ([]*point, error) {
	var all []*point
	wait, err := c.rootWait()
	if err != nil {
		return nil, err
	}
	add := func(name string, p sim.Programs) error {
		h := p.Header()
		if wait != (sim.Delay{}) && !h.Rooted() {
			std.Idle("root-delay", name+" has no root")
			c.RootDelay, wait = "none", sim.Delay{}
		}
		sizes := []int{0}
		if h.HasMessage() {
			sizes = c.Size.all()
		} else if c.Size != (sizeRange{1, 1}) {
			return fmt.Errorf("--size: %s moves no bytes", name)
		}
		for _, bytes := range sizes {
			all = append(all, &point{name: name, programs: p, header: h, bytes: bytes, repairs: c.Repair > 0})
		}
		return nil
	}
	if c.IsFile() {
		name, p, err := c.file(ctx, std)
		if err != nil {
			return nil, err
		}
		if err := c.fits(c.Source, p.Header().Ranks); err != nil {
			return nil, err
		}
		err = add(name, p)
		return all, err
	}
	if c.Ranks, err = c.ranks(c.Ranks); err != nil {
		return nil, err
	}
	specs, err := c.specs(std)
	if err != nil {
		return nil, err
	}
	for _, s := range specs {
		if err := add(c.Source, s); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// specs returns the algorithm for each number of ranks. The simulator builds the program of a rank
// when the rank has something to do, so the size of schedules is not bounded.
func (c *simCmd) specs(std terminal.Stdio) ([]*schedule.Spec, error) {
	c.DropIdle(std)
	p, err := c.Params(c.Source)
	switch {
	case err != nil:
		return nil, err
	case c.Ranks == nil:
		return nil, fmt.Errorf("--ranks: needed for %s, such as -p 8", c.Source)
	}
	var specs []*schedule.Spec
	for _, ranks := range spread(c.Ranks.Lo, c.Ranks.Hi) {
		p.Ranks = ranks
		s, err := schedule.New(c.Source, p)
		if err != nil {
			return nil, source.FlagError(err)
		}
		specs = append(specs, s)
	}
	return specs, nil
}

// file returns the programs of a file of any form, and their name.
func (c *simCmd) file(ctx context.Context, std terminal.Stdio) (string, sim.Programs, error) {
	l, err := c.OpenSniffed(ctx, std)
	if err != nil {
		return "", nil, err
	}
	defer l.File.Close() // read only: nothing to lose
	if l.Form == nil {
		s, err := c.Read(ctx, l.In)
		if err != nil {
			return "", nil, err
		}
		return s.Name(), sim.Of(s), nil
	}
	if err := c.CheckOwn(l.Form); err != nil {
		return "", nil, err
	}
	p, err := terminal.Await(ctx, func() (sim.Programs, error) { return c.foreign(l.Form, l.In) })
	return filepath.Base(c.Source), p, err
}

// foreign returns the programs of a file of another program. The file gives the lengths of its
// messages; for MSCCL XML, --size gives the length of a chunk.
func (c *simCmd) foreign(form *source.Foreign, in io.Reader) (sim.Programs, error) {
	if !form.Chunks && c.Size != (sizeRange{1, 1}) {
		return nil, fmt.Errorf("--size: %s states its own lengths", c.Source)
	}
	g, err := form.Read(in)
	if err != nil {
		return nil, source.Placed(c.Source, err)
	}
	unit := 1
	switch {
	case form.Chunks && c.Size.lo != c.Size.hi:
		return nil, fmt.Errorf("--size: must be one size for %s, not a range", form.Name)
	case form.Chunks:
		unit, c.Size = int(c.Size.lo), sizeRange{1, 1}
	}
	p, err := sim.OfGraph(filepath.Base(c.Source), g, unit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Source, err)
	}
	return p, nil
}

// simulate runs a point with all seeds.
func (c *simCmd) simulate(ctx context.Context, p *point, bar terminal.Progress) error {
	config, err := c.config(p)
	if err != nil {
		return err
	}
	s, err := sim.New(p.programs, config)
	if err != nil {
		return err
	}
	for i := range c.Runs {
		r, err := terminal.Await(ctx, func() (*sim.Result, error) { return s.Run(c.Seed + uint64(i)) })
		if err != nil {
			return err
		}
		p.note(r)
		bar.Advance()
	}
	slices.Sort(p.spans)
	return nil
}
