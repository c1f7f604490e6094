// Package compare is the verb compare of schedlab.
package compare

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/internal/lab/internal/options"
	"github.com/schedgen/schedgen/internal/lab/internal/units"
	"github.com/schedgen/schedgen/internal/terminal"
)

// Verb compares schedgen with Open MPI and MPICH.
type Verb struct {
	Quick   bool          `help:"P = 2, 4, 8; 2 B, 64 KiB, 512 KiB, blocks and vectors of 8 B and 64 KiB; fewer iterations; writes quick."`
	Install bool          `help:"Install Open MPI, MPICH and a C compiler with apt-get first."`
	Limits  bool          `default:"true" negatable:"" help:"Also measure the raw limits of the system."`
	Wire    []string      `placeholder:"WIRE" help:"Only over these: tcp (schedgen: TCP and multicast), shm; default both."`
	Op      []string      `placeholder:"NAME" help:"Only these operations: barrier, bcast, bcast_ack, bcast_barrier, and collectives that move blocks or fold; default all."`
	Ranks   []int         `short:"p" placeholder:"P" help:"Only these numbers of ranks; default 2,4,8,16,32."`
	Size    []units.Bytes `placeholder:"SIZE" help:"Only these sizes of a message, or of a block; default 2B,2KiB,64KiB,512KiB, for blocks 8B,1KiB,64KiB,1MiB, for folded vectors 8B,2KiB,64KiB,1MiB,16MiB."`
	Keep    int           `default:"3" placeholder:"N" help:"After the first round keep only the best N of schedgen's algorithms over each transport, default 3; 0: all."`

	options.RoundsFlag `embed:"" set:"rounds=5"`
	options.BudgetFlag `embed:"" set:"budget=2m"`
	options.Measuring  `embed:"" set:"limit=20s"`
	options.Files      `embed:"" set:"name=quick or full"`
	Against            string `placeholder:"FILE" complete:"file" help:"Compare the ratios with those in this file. The results are only written with --out."`
	Measured           string `placeholder:"FILE" complete:"file" help:"Do not measure; take the results from this file. They are only written again with --out."`

	cells []cell
}

// Help is the long help text.
func (Verb) Help() string {
	return `Compares schedgen with Open MPI and MPICH. In one run it measures all of them in turn, several times,
with the same operation, size, number of ranks and definition of time.

After --budget no further round of a cell begins. It writes NAME.csv, NAME.md and NAME.svg. With --against the exit code is 1 if a ratio got worse by
more than noise.

Examples:

  schedlab compare --install
  schedlab compare --quick
  schedlab compare --wire tcp --op barrier,bcast_ack -p 8 --size 2B,64KiB
  schedlab compare --wire tcp --quick --against docs/results/tcp.csv`
}

// check sets defaults, and returns an error for values that make no sense.
func (v *Verb) check() error {
	wires, ops := []string{wireTCP, wireShm}, operations()
	if err := errors.Join(options.Among("wire", v.Wire, wires), options.Among("op", v.Op, ops), options.Within("ranks", v.Ranks, 1, maxRanks)); err != nil {
		return err
	}
	wires, ops = options.Or(v.Wire, wires...), options.Or(v.Op, ops...)
	name := "full"
	sizes := units.Numbers[int](v.Size)
	blocks, vectors := sizes, sizes
	if v.Quick {
		name = "quick"
		v.Ranks = options.Or(v.Ranks, 2, 4, 8)
		sizes, blocks, vectors = options.Or(sizes, 2, 64<<10, 512<<10), options.Or(blocks, 8, 64<<10), options.Or(vectors, 8, 64<<10)
	}
	v.Ranks = options.Or(v.Ranks, 2, 4, 8, 16, 32)
	v.cells = cells(wires, ops, v.Ranks, options.Or(sizes, 2, 2<<10, 64<<10, 512<<10), options.Or(blocks, 8, 1<<10, 64<<10, 1<<20),
		options.Or(vectors, 8, 2<<10, 64<<10, 1<<20, 16<<20))
	if none := ""; v.Out == nil && (v.Against != "" || v.Measured != "") {
		v.Out = &none // stored results stay
	}
	switch {
	case v.Keep < 0:
		return fmt.Errorf("--keep=%d: must not be negative", v.Keep)
	case v.Budget < 0:
		return fmt.Errorf("--budget=%v: must not be negative", v.Budget)
	}
	return errors.Join(v.CheckRounds(1), v.Measuring.Check(false), v.Named(name))
}

// maxRanks is the largest number of ranks.
const maxRanks = 1 << 12

// Run measures, prints the report, and writes the files.
func (v *Verb) Run(ctx context.Context, std terminal.Stdio) error {
	if err := v.check(); err != nil {
		return err
	}
	var stored *results
	if v.Against != "" {
		var err error
		if stored, err = readResults(v.Against); err != nil {
			return err
		}
	}
	measured, err := v.obtain(ctx, std.Err)
	if measured == nil {
		return err
	}
	// Write the results even if there was no time for all of them.
	if err := errors.Join(err, v.write(measured, std.Out)); err != nil || stored == nil {
		return err
	}
	err = against(std.Out, stored, measured)
	if _, worse := errors.AsType[*worseError](err); worse {
		return terminal.Failed(err)
	}
	return err
}

// write prints the report, and writes the files.
func (v *Verb) write(r *results, stdout io.Writer) error {
	markdown := func(w io.Writer) error { return r.writeMarkdown(w, v.Name) }
	if v.Against == "" {
		if err := markdown(stdout); err != nil {
			return err
		}
	}
	return v.Write(map[string]func(io.Writer) error{"csv": r.writeCSV, "md": markdown, "svg": r.writeSVG})
}

// obtain measures, or reads stored results. With an error it returns the results before the error.
func (v *Verb) obtain(ctx context.Context, stderr io.Writer) (*results, error) {
	if v.Measured != "" {
		return readResults(v.Measured)
	}
	if v.Install {
		if err := install(ctx, stderr); err != nil {
			return nil, err
		}
	}
	b, err := build(ctx, stderr)
	if err != nil {
		return nil, err
	}
	defer b.Remove()
	r := &results{about: b.about(ctx, v)}
	if err := measureCells(ctx, v, b, r, stderr); err != nil {
		return r, err
	}
	if v.Limits {
		r.rows = append(r.rows, measureLimits(ctx, v, stderr)...)
	}
	return r, ctx.Err()
}
