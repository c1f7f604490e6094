package main

import (
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// tally gathers what the ranks report.
type tally struct {
	ranks   []rankTally
	slowest *hdrhistogram.Histogram // of each iteration, the longest time of a rank
	joined  int
	bar     runProgress
}

type rankTally struct {
	times   *hdrhistogram.Histogram // nanoseconds
	pending []int64                 // times of iterations that other ranks have not told yet
	outcome *outcome
}

func newTally(j *job, bar runProgress) *tally {
	t := &tally{ranks: make([]rankTally, j.Params.Ranks), slowest: newTimes(), bar: bar}
	for i := range t.ranks {
		t.ranks[i].times = newTimes()
	}
	return t
}

// newTimes is for 1 ns to an hour, to a thousandth.
func newTimes() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(time.Hour), 3) }

func record(h *hdrhistogram.Histogram, ns int64) {
	_ = h.RecordValue(min(max(ns, 1), int64(time.Hour))) // within its bounds
}

// join notes that a rank is connected and reports whether all are.
func (t *tally) join() bool {
	t.joined++
	return t.joined == len(t.ranks)
}

func (t *tally) finish(rank int, o *outcome) { t.ranks[rank].outcome = o }

// add takes a rank's samples or steps.
func (t *tally) add(rank int, r *report) {
	me := &t.ranks[rank]
	for _, ns := range r.Samples {
		record(me.times, ns)
	}
	me.pending = append(me.pending, r.Samples...)
	t.bar.add(r.Steps)
	t.compare()
}

// compare takes the iterations that all ranks have told. Ranks meet at a
// barrier in each, so what is pending stays short.
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

// wrong returns the ranks that have found something wrong.
func (t *tally) wrong() []int {
	var out []int
	for rank := range t.ranks {
		if t.ranks[rank].outcome.Wrong.Count > 0 {
			out = append(out, rank)
		}
	}
	return out
}

// skew is how the ranks' medians lie around the median over ranks (paper 000,
// figure 5).
type skew struct {
	Median       time.Duration // over the ranks' medians
	FirstRank    int           // the rank with the smallest
	FirstPercent float64       // how far it lies from the median, in percent
	LastRank     int
	LastPercent  float64
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

// runProgress is a bar of a run's iterations or messages; the zero value
// shows nothing.
type runProgress struct{ progress }

func newRunProgress(std stdio, verb string, total int) runProgress {
	return runProgress{newProgress(std, total, verb)}
}

func (p runProgress) add(n int) {
	if p.bar != nil && n > 0 {
		_ = p.bar.Add(n) // a bar that cannot be drawn is no reason to stop
	}
}
