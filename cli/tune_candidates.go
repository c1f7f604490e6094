package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/schedgen/schedgen/internal/model/fit"
	"github.com/schedgen/schedgen/internal/model/grid"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// timedCell holds the times of a candidate. Its runs are apart in time, so that other load on the
// machine and the placement of processes show as a wide interval.
type timedCell struct {
	grid.Choice
	runs []fit.Interval // nanoseconds
}

// time returns the mean value of the runs and the interval that covers the intervals of all runs.
func (c *timedCell) time() fit.Interval {
	all := fit.Interval{Low: math.Inf(1), High: math.Inf(-1)}
	for _, r := range c.runs {
		all.Value += r.Value / float64(len(c.runs))
		all.Low, all.High = min(all.Low, r.Low), max(all.High, r.High)
	}
	return all
}

// fartherOff is the ratio to the time of the best candidate above which a candidate is not timed
// again.
const fartherOff = 1.5

// timeCandidates times the candidates in all cases with up to the given number of ranks, until the
// budget is over.
func (t *tuned) timeCandidates(ctx context.Context) error {
	t.timed = map[selection.Case][]timedCell{}
	grids := t.grids(true)
	var cases []selection.Case
	for i := range grids {
		cases = append(cases, grids[i].Cases()...)
	}
	slices.SortStableFunc(cases, func(a, b selection.Case) int { return b.Ranks - a.Ranks }) // the number of ranks of -p comes first
	bar := terminal.NewProgress(t.std, len(cases), "candidates")
	defer bar.Clear()
	for _, c := range cases {
		if bar.Advance(); time.Since(t.start) > t.cmd.Budget {
			t.dropped++
			continue
		}
		if err := t.timeCase(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// timeCase times all candidates of a case once, and then again the candidates that may be the best.
func (t *tuned) timeCase(ctx context.Context, of selection.Case) error {
	cells, err := t.choices(of)
	if err != nil {
		return err
	}
	least := math.Inf(1)
	for again := range 2 {
		for i := range cells {
			c := &cells[i]
			if again > 0 && i > 0 && c.time().Low > fartherOff*least { // candidate 0 is the built-in choice, with which all are compared
				continue
			}
			took, err := t.timeOne(ctx, of, &c.Choice)
			if err != nil {
				return fmt.Errorf("%s among %d ranks: %w", c.Algorithm, of.Ranks, err)
			}
			c.runs = append(c.runs, took)
			least = min(least, took.High)
		}
	}
	t.timed[of] = cells
	return nil
}

// choices returns the candidates of a case: the choice of the built-in rules, each algorithm with
// its default parameters, and the best choice in the model.
func (t *tuned) choices(of selection.Case) ([]timedCell, error) {
	cells := []timedCell{{Choice: grid.BuiltIn(of)}}
	add := func(c grid.Choice) {
		if !slices.ContainsFunc(cells, func(other timedCell) bool { return other.Choice == c }) {
			cells = append(cells, timedCell{Choice: c})
		}
	}
	for _, name := range candidates(of.Collective, of.Multicast) {
		if _, err := schedule.New(name, schedule.Params{Ranks: of.Ranks}); err != nil {
			continue // it does not exist for so many ranks
		}
		add(grid.Choice{Algorithm: name})
	}
	puts := of
	puts.Multicast, puts.Memory, puts.Rings = false, false, false
	model := onMeasured(t.machine)
	best := func(c selection.Case) ([]selection.Candidate, error) { return selection.Compare(c, model.Likely) }
	cell, err := grid.OnModel(model, best)(puts, nil)
	if err != nil {
		return nil, err
	}
	if len(cell.Candidates) > 0 {
		add(slices.MinFunc(cell.Candidates, func(a, b grid.Candidate) int { return cmp.Compare(a.Time.Value, b.Time.Value) }).Choice)
	}
	return cells, nil
}

// timeOne times a candidate as bench does.
func (t *tuned) timeOne(ctx context.Context, of selection.Case, choice *grid.Choice) (fit.Interval, error) {
	b := benchCmd{Operation: of.Collective, Iterations: &t.cmd.Iterations, runFlags: t.cmd.flagsFor(of.Ranks)}
	if rowOf(of.Collective).Blocks != nil {
		b.Size = new(byteSize(of.Bytes))
	}
	j, err := b.job(ctx, t.std)
	if err != nil {
		return fit.Interval{}, err
	}
	j.Algorithm = choice.Algorithm
	j.Params = schedule.Params{
		Ranks: of.Ranks, Degree: choice.Params.Degree, FanIn: choice.Params.FanIn, FanOut: choice.Params.FanOut, Chunks: choice.Params.Chunks,
	}
	if choice.Params.Chunk > 0 {
		j.Params.Chunks = selection.Chunks(selection.Message{
			Algorithm: choice.Algorithm, Ranks: of.Ranks, Blocks: rowOf(of.Collective).Blocks(of.Ranks), Bytes: of.Bytes, Most: choice.Params.Chunk,
		})
	}
	took, err := b.measure(ctx, t.std, &j, terminal.Progress{})
	if err != nil {
		return fit.Interval{}, err
	}
	return medianOf(took.Slowest), nil
}

// medianOf returns the median of a histogram, to one part in a thousand.
func medianOf(h *hdrhistogram.Histogram) fit.Interval {
	n := h.TotalCount()
	return fit.MedianOf(int(n), func(k int) float64 {
		return float64(h.ValueAtQuantile(100 * (float64(k) + 0.5) / float64(n)))
	})
}
