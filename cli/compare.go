package cli

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/schedgen/schedgen/internal/chart"
	"github.com/schedgen/schedgen/internal/model/loggp"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
	"github.com/schedgen/schedgen/sim"
)

// compareCmd is the verb compare.
type compareCmd struct {
	Sources []string      `arg:"" name:"algorithm|file" complete:"algorithm,file" help:"Names of algorithms of one collective, and files that hold schedules of it."`
	Ranks   *source.Ranks `short:"p" placeholder:"P" help:"Number of ranks, or a range LO..HI: LO, 2·LO, 4·LO … and HI; default that of a file."`
	Size    sizeRange     `default:"1KiB" placeholder:"SIZE" help:"Bytes of one block, or a range LO..HI: LO, 4·LO, 16·LO … and HI; a broadcast has one block, its message; default 1KiB."`
	Chunks  *int          `placeholder:"F" help:"Chunks of each block; default what rules give an algorithm for the size."`
	LogGP   *loggpParams  `name:"loggp" placeholder:"L,o,g,G" help:"Parameters of --model loggp at once: L, o and g in ns, G in ns a byte."`
	machineFlags

	CSV  string `name:"csv" placeholder:"FILE" help:"Also write the times as CSV to FILE; - writes them to the standard output in place of the table."`
	Plot string `placeholder:"FILE" help:"Also draw the times as SVG to FILE: over the sizes for the largest number of ranks, or over the ranks. If both are ranges, the picture over the ranks for the largest size goes to FILE with -ranks before its ending."`
}

// Help is the long help text.
func (compareCmd) Help() string {
	return `Simulates schedules of one collective for the same ranks and sizes, and prints when the last
call returns, the least time with a star. Lines after the table tell from which size, or number of
ranks, on another one is the fastest. The models are those of sim.

With --network, messages cross the links of a network, whose number of ranks is the default of -p.

A file is for one number of ranks and takes part only there. An algorithm that does not exist for a
number of ranks has no time there.

Examples:

  schedgen compare bcast/binomial bcast/chain bcast/two-tree -p 64 \
    --size 1KiB..64MiB --plot bcast.svg
  schedgen compare barrier/dissemination barrier/hsb -p 2..1024
  schedgen compare allgather/ring allgather/bruck --network two-sites.net`
}

// compared is a schedule of a comparison.
type compared struct {
	name string
	file *ir.Schedule // nil: an algorithm
}

// cell is a number of ranks and a size.
type cell struct{ ranks, bytes int }

// comparison holds the times of all schedules.
type comparison struct {
	c     *compareCmd
	model sim.Model
	of    []compared
	row   ir.Collective
	ranks []int
	sizes []int
	time  map[cell][]sim.Time // by schedule; sim.Never: there is none
	turns []string
}

// Run prints the table.
func (c *compareCmd) Run(ctx context.Context, std terminal.Stdio) error {
	cmp, err := c.prepare(ctx, std)
	if err != nil {
		return err
	}
	bar := terminal.NewProgress(std, len(cmp.ranks)*len(cmp.sizes), "simulating")
	for _, ranks := range cmp.ranks {
		for _, bytes := range cmp.sizes {
			if err := cmp.simulate(ctx, cell{ranks, bytes}); err != nil {
				return err
			}
			bar.Advance()
		}
	}
	if err := cmp.findTurns(ctx); err != nil {
		return err
	}
	bar.Clear()
	return c.write(terminal.NewWriter(ctx, std.Out), cmp)
}

// prepare reads the files and checks that all are of one collective.
func (c *compareCmd) prepare(ctx context.Context, std terminal.Stdio) (*comparison, error) {
	cmp := &comparison{c: c, time: make(map[cell][]sim.Time)}
	if c.CSV == "-" && c.Plot == "-" {
		return nil, errors.New("--plot=-: not with --csv=-, which needs the standard output for itself")
	}
	if err := c.networkFlag.load(ctx, std, c.Sources...); err != nil {
		return nil, err
	}
	if err := c.readAll(ctx, std, cmp); err != nil {
		return nil, err
	}
	var err error
	if c.Ranks, err = c.ranks(c.Ranks); err != nil {
		return nil, err
	}
	switch {
	case c.Ranks == nil && !slices.ContainsFunc(cmp.of, func(x compared) bool { return x.file == nil }):
		for _, x := range cmp.of {
			cmp.ranks = append(cmp.ranks, x.file.Ranks)
		}
		slices.Sort(cmp.ranks)
		cmp.ranks = slices.Compact(cmp.ranks)
	case c.Ranks == nil:
		return nil, fmt.Errorf("--ranks: needed for %s, such as -p 4..64", c.Sources[0])
	default:
		cmp.ranks = steps(c.Ranks.Lo, c.Ranks.Hi, 2)
	}
	cmp.sizes = []int{0}
	if cmp.row.Blocks != nil {
		cmp.sizes = steps(int(c.Size.lo), int(c.Size.hi), 4)
	}
	if c.LogGP != nil {
		if c.Model != "loggp" {
			return nil, fmt.Errorf("--loggp: needs --model loggp")
		}
		p := loggp.Params(*c.LogGP)
		cmp.model = sim.LogGP{L: sim.Time(p.L), O: sim.Time(p.O), Gap: sim.Time(p.Gap), GPerByte: sim.PerByte(p.GPerByte) * 1000}
		return cmp, nil
	}
	cmp.model, err = c.model()
	return cmp, err
}

// readAll reads the files, and finds the algorithms.
func (c *compareCmd) readAll(ctx context.Context, std terminal.Stdio, cmp *comparison) error {
	for _, name := range c.Sources {
		a := source.Args{Source: name}
		x := compared{name: name}
		var row ir.Collective
		if a.IsFile() {
			s, err := a.Load(ctx, std)
			if err != nil {
				return err
			}
			if err := c.fits(name, s.Ranks); err != nil {
				return err
			}
			x.file, x.name, row = s, filepath.Base(name), *s.Row()
		} else {
			alg, err := source.Named(name)
			if err != nil {
				return err
			}
			row = alg.Row()
			if c.Chunks != nil && !source.Takes(&alg, "chunks") {
				std.Idle("chunks", name+" does not take it")
			}
		}
		if cmp.of = append(cmp.of, x); len(cmp.of) == 1 {
			cmp.row = row
		} else if row.Name != cmp.row.Name {
			return fmt.Errorf("%s is a schedule of %s, and %s of %s: only schedules of one collective can be compared", c.Sources[0], cmp.row.Name, name, row.Name)
		}
	}
	return nil
}

// steps returns lo, factor·lo … up to hi, and hi.
func steps(lo, hi, factor int) (all []int) {
	for n := lo; n < hi; n = max(n*factor, 1) {
		all = append(all, n)
	}
	return append(all, hi)
}

// simulate notes the times of all schedules in a cell.
func (cmp *comparison) simulate(ctx context.Context, at cell) error {
	times := make([]sim.Time, len(cmp.of))
	for i := range cmp.of {
		var err error
		if times[i], err = cmp.run(ctx, &cmp.of[i], at); err != nil {
			return err
		}
	}
	cmp.time[at] = times
	return nil
}

// run returns the time of a schedule, or sim.Never if it does not exist for so many ranks.
func (cmp *comparison) run(ctx context.Context, x *compared, at cell) (sim.Time, error) {
	var programs sim.Programs
	if x.file != nil {
		if x.file.Ranks != at.ranks {
			return sim.Never, nil
		}
		programs = sim.Of(x.file)
	} else {
		alg, err := source.Named(x.name)
		if err != nil {
			return 0, err
		}
		p := schedule.Params{Ranks: at.ranks}
		if source.Takes(&alg, "chunks") {
			p.Chunks = selection.Chunks(selection.Message{Algorithm: x.name, Ranks: at.ranks, Blocks: cmp.row.Blocks(at.ranks), Bytes: at.bytes, Links: true})
			if cmp.c.Chunks != nil {
				p.Chunks = *cmp.c.Chunks
			}
		}
		spec, err := schedule.New(x.name, p)
		if _, refused := errors.AsType[*schedule.Refusal](err); refused {
			return sim.Never, nil
		} else if err != nil {
			return 0, source.FlagError(err)
		}
		programs = spec
	}
	config := sim.Config{Bytes: at.bytes, Model: cmp.model, Fold: sim.PerByte(cmp.c.Fold), Switch: cmp.c.Switch.perByte(), Fanout: sim.Time(cmp.c.FanoutLag)}
	if cmp.c.On != nil {
		if config.Hosts = *cmp.c.On; config.Hosts < 1 {
			return 0, fmt.Errorf("--on-hosts=%d: must be at least 1", config.Hosts)
		}
	}
	r, err := terminal.Await(ctx, func() (*sim.Result, error) { return sim.Run(programs, config) })
	if err != nil {
		return 0, fmt.Errorf("%s: %w", x.name, err)
	}
	return r.Makespan, nil
}

// fastest returns the schedule that takes the least time in a cell, or -1 if none has a time.
func (cmp *comparison) fastest(at cell) int {
	best := -1
	for i, t := range cmp.time[at] {
		if t != sim.Never && (best < 0 || t < cmp.time[at][best]) {
			best = i
		}
	}
	return best
}

// findTurns looks for the sizes, or numbers of ranks if there is one size, from which on another
// schedule is the fastest.
func (cmp *comparison) findTurns(ctx context.Context) error {
	if len(cmp.of) < 2 {
		return nil
	}
	if len(cmp.sizes) == 1 {
		return cmp.turnsAlong(ctx, "", cmp.ranks, func(n int) cell { return cell{n, cmp.sizes[0]} }, func(n int) string { return fmt.Sprintf("%d ranks", n) })
	}
	for _, ranks := range cmp.ranks {
		title := fmt.Sprintf("%d ranks: ", ranks)
		if err := cmp.turnsAlong(ctx, title, cmp.sizes, func(n int) cell { return cell{ranks, n} }, func(n int) string { return byteSize(n).String() }); err != nil {
			return err
		}
	}
	return nil
}

// turnsAlong notes a line that names the fastest schedules along an axis. Where it changes between
// two numbers, it halves the distance between them until that is below 2 %.
func (cmp *comparison) turnsAlong(ctx context.Context, title string, axis []int, at func(int) cell, spell func(int) string) error {
	var parts []string
	now := -1
	for i, n := range axis {
		best := cmp.fastest(at(n))
		if best < 0 || best == now {
			continue
		}
		from := n
		if now >= 0 {
			low := axis[i-1]
			for from-low > max(1, low/50) {
				mid := int(math.Round(math.Sqrt(float64(max(low, 1)) * float64(from))))
				if mid <= low || mid >= from {
					break
				}
				if err := cmp.simulate(ctx, at(mid)); err != nil {
					return err
				}
				if faster := cmp.fastest(at(mid)); faster == now || faster < 0 {
					low = mid
				} else {
					from, best = mid, faster
				}
			}
		}
		part := cmp.of[best].name + " is the fastest"
		if now >= 0 {
			part = cmp.of[best].name + " from " + spell(from) + " on"
		}
		parts, now = append(parts, part), cmp.fastest(at(n))
		if now != best {
			parts = append(parts, cmp.of[now].name+" at "+spell(n))
		}
	}
	if len(parts) > 0 {
		cmp.turns = append(cmp.turns, title+strings.Join(parts, ", "))
	}
	return nil
}

func (c *compareCmd) write(out io.Writer, cmp *comparison) error {
	if c.CSV != "" {
		if err := terminal.WriteTo("csv", c.CSV, out, cmp.writeCSV); err != nil {
			return err
		}
	}
	if c.Plot != "" {
		if err := c.draw(out, cmp); err != nil {
			return err
		}
	}
	if c.CSV == "-" || c.Plot == "-" {
		return nil
	}
	return cmp.print(out)
}

func (cmp *comparison) print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "ranks\t")
	if cmp.row.Blocks != nil {
		fmt.Fprint(t, "size\t")
	}
	for _, x := range cmp.of {
		fmt.Fprintf(t, "%s\t", x.name)
	}
	fmt.Fprintln(t)
	for _, ranks := range cmp.ranks {
		for _, bytes := range cmp.sizes {
			at := cell{ranks, bytes}
			fmt.Fprintf(t, "%d\t", ranks)
			if cmp.row.Blocks != nil {
				fmt.Fprintf(t, "%v\t", byteSize(bytes))
			}
			best := cmp.fastest(at)
			for i, span := range cmp.time[at] {
				star := " "
				if i == best && len(cmp.of) > 1 {
					star = "*"
				}
				if span == sim.Never {
					fmt.Fprint(t, "- \t")
				} else {
					fmt.Fprintf(t, "%s%s\t", micros(loggp.Time(span)), star)
				}
			}
			fmt.Fprintln(t)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i, turn := range cmp.turns {
		if i == 0 {
			turn = "\n" + turn
		}
		if _, err := fmt.Fprintln(out, turn); err != nil {
			return err
		}
	}
	return nil
}

func (cmp *comparison) writeCSV(out io.Writer) error {
	w := csv.NewWriter(out)
	head := []string{"ranks", "bytes"}
	for _, x := range cmp.of {
		head = append(head, x.name+" us")
	}
	w.Write(head) // Flush keeps the error
	for _, ranks := range cmp.ranks {
		for _, bytes := range cmp.sizes {
			line := []string{strconv.Itoa(ranks), strconv.Itoa(bytes)}
			for _, span := range cmp.time[cell{ranks, bytes}] {
				text := ""
				if span != sim.Never {
					text = strconv.FormatFloat(float64(span)/1e3, 'f', -1, 64)
				}
				line = append(line, text)
			}
			w.Write(line)
		}
	}
	w.Flush()
	return w.Error()
}

// draw writes the pictures.
func (c *compareCmd) draw(out io.Writer, cmp *comparison) error {
	ranks, bytes := cmp.ranks[len(cmp.ranks)-1], cmp.sizes[len(cmp.sizes)-1]
	name := c.Plot
	if len(cmp.sizes) > 1 {
		title := fmt.Sprintf("%s among %d ranks", cmp.row.Name, ranks)
		if err := terminal.WriteTo("plot", name, out, cmp.chart(title, "bytes", cmp.sizes, func(n int) cell { return cell{ranks, n} })); err != nil {
			return err
		}
		if len(cmp.ranks) == 1 || name == "-" {
			return nil
		}
		ending := filepath.Ext(name)
		name = strings.TrimSuffix(name, ending) + "-ranks" + ending
	}
	title := cmp.row.Name
	if bytes > 0 {
		title += fmt.Sprintf(" of %v", byteSize(bytes))
	}
	return terminal.WriteTo("plot", name, out, cmp.chart(title, "ranks", cmp.ranks, func(n int) cell { return cell{n, bytes} }))
}

func (cmp *comparison) chart(title, axis string, along []int, at func(int) cell) func(io.Writer) error {
	c := chart.Chart{Title: title, X: axis, Y: "time, µs", LogX: true, LogY: true}
	for i, x := range cmp.of {
		line := chart.Line{Name: x.name, Color: i}
		for _, n := range along {
			if span := cmp.time[at(n)][i]; span != sim.Never {
				line.At = append(line.At, chart.Point{X: float64(n), Y: float64(span) / 1e3})
			}
		}
		c.Lines = append(c.Lines, line)
	}
	return func(w io.Writer) error { return chart.Write(w, c) }
}
