package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// measureCells measures all cells, one after the other. A cell where something
// fails is no reason to stop.
func measureCells(ctx context.Context, o *options, b *built, r *results, stderr io.Writer) error {
	start := time.Now()
	for i, c := range o.cells {
		fmt.Fprintf(stderr, "%4d of %d  %s  %v", i+1, len(o.cells), time.Since(start).Round(time.Second), c)
		rows := measureCell(ctx, o, c, b.contenders(c))
		if ctx.Err() != nil {
			return ctx.Err() // this cell is not whole
		}
		r.rows = append(r.rows, rows...)
		fmt.Fprintf(stderr, "  %s\n", summary(c, rows))
	}
	if len(o.cells) > 0 && !slices.ContainsFunc(r.rows, func(r row) bool { return len(r.runs) > 0 }) {
		return errors.New("nothing could be measured")
	}
	return nil
}

// measureCell runs the contenders of a cell one after the other, over again,
// so that what else the machine does meets all of them alike.
func measureCell(ctx context.Context, o *options, c cell, all []contender) []row {
	end := time.Now().Add(o.budget)
	rows := make([]row, len(all))
	out := make([]bool, len(all)) // has failed, or is not among the best
	for i := range all {
		rows[i] = row{cell: c, side: all[i].side, contender: all[i].name, iterations: c.iterations(o.quick)}
	}
	for round := range o.rounds {
		over := time.Now().After(end) // a round is ended: whoever has fewer of them is not compared
		for turn := range all {
			i := (turn + round) % len(all) // nobody is always behind the same one
			if out[i] || ctx.Err() != nil {
				continue
			}
			if over {
				rows[i].note(fmt.Errorf("the cell's time was over after round %d", round))
				out[i] = true
				continue
			}
			t, err := measure(ctx, &all[i], rows[i].iterations, o.limit)
			if out[i] = err != nil; err != nil {
				rows[i].note(err)
			} else {
				rows[i].runs = append(rows[i].runs, t)
			}
		}
		if round == 0 {
			drop(all, rows, out, o.keep)
		}
	}
	return rows
}

// drop leaves the best of our algorithms over each transport in, and what the library
// chooses; 0 leaves all.
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
		slices.SortStableFunc(of, func(a, b int) int { return compareFloats(rows[a].mean(), rows[b].mean()) })
		for _, i := range of[keep:] {
			out[i] = !all[i].own
		}
	}
}
