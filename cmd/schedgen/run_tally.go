package main

import (
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// tally gathers the reports of the ranks.
type tally struct {
	ranks   []rankTally
	slowest *hdrhistogram.Histogram // for each iteration, the longest time of a rank, in nanoseconds
	joined  int
	bar     runProgress
}

type rankTally struct {
	times   *hdrhistogram.Histogram // nanoseconds
	pending []int64                 // times of iterations that other ranks have not reported yet
	outcome *outcome
}

func newTally(j *job, bar runProgress) *tally {
	t := &tally{ranks: make([]rankTally, j.Params.Ranks), slowest: newTimes(), bar: bar}
	for i := range t.ranks {
		t.ranks[i].times = newTimes()
	}
	return t
}

// newTimes returns a histogram of times from 1 ns to an hour, with a precision of one part in a
// thousand.
func newTimes() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(time.Hour), 3) }

func record(h *hdrhistogram.Histogram, ns int64) {
	_ = h.RecordValue(min(max(ns, 1), int64(time.Hour))) // never fails within the bounds of newTimes
}

// join records that a rank is connected and reports whether all are.
func (t *tally) join() bool {
	t.joined++
	return t.joined == len(t.ranks)
}

func (t *tally) finish(rank int, o *outcome) { t.ranks[rank].outcome = o }

// add adds the samples or steps of a rank.
func (t *tally) add(rank int, r *report) {
	me := &t.ranks[rank]
	for _, ns := range r.Samples {
		record(me.times, ns)
	}
	me.pending = append(me.pending, r.Samples...)
	t.bar.add(r.Steps)
	t.compare()
}

// compare records the longest time of each iteration that all ranks have reported. Ranks meet at a
// barrier in each iteration, so the lists of pending times stay short.
func (t *tally) compare() {
	n := len(t.ranks[0].pending)
	for i := range t.ranks {
		n = min(n, len(t.ranks[i].pending))
	}
	for k := range n {
		longest := int64(0)
		for i := range t.ranks {
			longest = max(longest, t.ranks[i].pending[k])
		}
		record(t.slowest, longest)
	}
	for i := range t.ranks {
		t.ranks[i].pending = slices.Delete(t.ranks[i].pending, 0, n)
	}
	t.bar.add(n)
}

// wrong returns the ranks that have found wrong data.
func (t *tally) wrong() []int {
	var out []int
	for rank := range t.ranks {
		if t.ranks[rank].outcome.Wrong.Count > 0 {
			out = append(out, rank)
		}
	}
	return out
}

// skew tells how far the medians of ranks are from the median over ranks (paper 000, figure 5).
type skew struct {
	Median       time.Duration // median of the ranks' medians
	FirstRank    int           // the rank with the smallest median
	FirstPercent float64       // difference of its median from Median, in percent
	LastRank     int           // the rank with the largest median
	LastPercent  float64       // difference of its median from Median, in percent
}

func (t *tally) skew() skew {
	order := make([]int, len(t.ranks))
	median := make([]int64, len(t.ranks))
	for rank := range t.ranks {
		order[rank], median[rank] = rank, quantile(t.ranks[rank].times, 50).Nanoseconds()
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(median[a] - median[b]) })
	half := len(order) / 2
	middle := float64(median[order[half]]+median[order[len(order)-1-half]]) / 2
	first, last := order[0], order[len(order)-1]
	percent := func(rank int) float64 { return 100 * (float64(median[rank]) - middle) / middle }
	return skew{
		Median:    time.Duration(middle),
		FirstRank: first, FirstPercent: percent(first),
		LastRank: last, LastPercent: percent(last),
	}
}

func quantile(h *hdrhistogram.Histogram, q float64) time.Duration {
	return time.Duration(h.ValueAtQuantile(q))
}

// runProgress is a progress bar of a run's iterations or messages. The zero value shows nothing.
type runProgress struct{ progress }

func newRunProgress(std stdio, verb string, total int) runProgress {
	return runProgress{newProgress(std, total, verb)}
}

func (p runProgress) add(n int) {
	if p.bar != nil && n > 0 {
		_ = p.bar.Add(n) // a bar that cannot be drawn is no reason to stop
	}
}
