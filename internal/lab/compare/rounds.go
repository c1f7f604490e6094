package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/schedgen/schedgen/internal/lab/internal/bench"
	"github.com/schedgen/schedgen/internal/lab/internal/report"
)

// measureCells measures all cells, one after the other. It continues after a failure.
func measureCells(ctx context.Context, v *Verb, b *built, r *results, stderr io.Writer) error {
	start := time.Now()
	for i, c := range v.cells {
		fmt.Fprintf(stderr, "%4d of %d  %s  %v", i+1, len(v.cells), time.Since(start).Round(time.Second), c)
		rows := measureCell(ctx, v, c, b.contenders(c))
		if ctx.Err() != nil {
			return ctx.Err() // this cell is not complete
		}
		r.rows = append(r.rows, rows...)
		fmt.Fprintf(stderr, "  %s\n", summary(c, rows))
	}
	if len(v.cells) > 0 && !slices.ContainsFunc(r.rows, func(r row) bool { return len(r.runs) > 0 }) {
		return errors.New("nothing could be measured")
	}
	return nil
}

// measureCell runs the contenders of a cell in turn, in several rounds, so that other load on the
// machine affects all of them.
func measureCell(ctx context.Context, v *Verb, c cell, all []contender) []row {
	end := time.Now().Add(v.Budget)
	rows := make([]row, len(all))
	out := make([]bool, len(all)) // the contender has failed, or is not among the best
	for i := range all {
		rows[i] = row{cell: c, side: all[i].side, contender: all[i].name, iterations: c.iterations(v.Quick)}
	}
	for round := range v.Rounds {
		over := v.Budget > 0 && time.Now().After(end) // finish the round: contenders with fewer rounds are not compared
		for turn := range all {
			i := (turn + round) % len(all) // so that no contender always follows the same one
			if out[i] || ctx.Err() != nil {
				continue
			}
			if over {
				rows[i].status = fmt.Sprintf("the cell's time was over after round %d", round)
				out[i] = true
				continue
			}
			if v.Quiet < 1 {
				v.Wait(ctx)
			}
			x := &all[i]
			t, err := bench.Run(ctx, v.Prefixed(x.command(rows[i].iterations, v.Limit)...), x.env, v.Limit, x.parse)
			if out[i] = err != nil; err != nil {
				rows[i].status = report.OneLine(err)
			} else {
				rows[i].runs = append(rows[i].runs, t)
			}
		}
		if round == 0 {
			drop(all, rows, out, v.Keep)
		}
	}
	return rows
}

// drop removes all of schedgen's algorithms over each transport, except the best keep ones and the
// library's default choice. With keep 0 it removes none.
func drop(all []contender, rows []row, out []bool, keep int) {
	left := map[string][]int{}
	for i := range rows {
		if rows[i].side == ours && !out[i] {
			left[rows[i].transport()] = append(left[rows[i].transport()], i)
		}
	}
	for _, of := range left {
		if keep == 0 || len(of) <= keep {
			continue
		}
		slices.SortStableFunc(of, func(a, b int) int { return cmp.Compare(rows[a].mean(), rows[b].mean()) })
		for _, i := range of[keep:] {
			out[i] = !all[i].own
		}
	}
}
