package crew

import (
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Tally gathers the reports of the ranks.
type Tally struct {
	Ranks   []RankTally
	Slowest *hdrhistogram.Histogram // for each iteration, the longest time of a rank, in nanoseconds
	joined  int

	progress func(steps int) // is told of steps and iterations that all ranks have done
}

// RankTally holds the results of a rank.
type RankTally struct {
	Times   *hdrhistogram.Histogram // nanoseconds
	pending []int64                 // times of iterations that other ranks have not reported yet
	Outcome *Outcome
}

// NewTally returns the tally of a number of ranks. progress, if not nil, is called with the number
// of steps since the last call.
func NewTally(ranks int, progress func(steps int)) *Tally {
	if progress == nil {
		progress = func(int) {}
	}
	t := &Tally{Ranks: make([]RankTally, ranks), Slowest: NewTimes(), progress: progress}
	for i := range t.Ranks {
		t.Ranks[i].Times = NewTimes()
	}
	return t
}

// NewTimes returns a histogram of times from 1 ns to an hour, with a precision of one part in a
// thousand.
func NewTimes() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(time.Hour), 3) }

// Record adds a time of ns nanoseconds to h, a histogram of [NewTimes].
func Record(h *hdrhistogram.Histogram, ns int64) {
	_ = h.RecordValue(min(max(ns, 1), int64(time.Hour))) // never fails within the bounds of NewTimes
}

// join records that a rank is connected and reports whether all are.
func (t *Tally) join() bool {
	t.joined++
	return t.joined == len(t.Ranks)
}

func (t *Tally) finish(rank int, o *Outcome) { t.Ranks[rank].Outcome = o }

// add adds the samples or steps of a rank.
func (t *Tally) add(rank int, r *report) {
	me := &t.Ranks[rank]
	for _, ns := range r.Samples {
		Record(me.Times, ns)
	}
	me.pending = append(me.pending, r.Samples...)
	t.progress(r.Steps)
	t.compare()
}

// compare records the longest time of each iteration that all ranks have reported. Ranks meet at a
// barrier in each iteration, so the lists of pending times stay short.
func (t *Tally) compare() {
	n := len(t.Ranks[0].pending)
	for i := range t.Ranks {
		n = min(n, len(t.Ranks[i].pending))
	}
	for k := range n {
		longest := int64(0)
		for i := range t.Ranks {
			longest = max(longest, t.Ranks[i].pending[k])
		}
		Record(t.Slowest, longest)
	}
	for i := range t.Ranks {
		t.Ranks[i].pending = slices.Delete(t.Ranks[i].pending, 0, n)
	}
	t.progress(n)
}

// Wrong returns the ranks that have found wrong data.
func (t *Tally) Wrong() []int {
	var out []int
	for rank := range t.Ranks {
		if t.Ranks[rank].Outcome.Wrong.Count > 0 {
			out = append(out, rank)
		}
	}
	return out
}

// Skew tells how far the medians of ranks are from the median over ranks (paper 000, figure 5).
type Skew struct {
	Median       time.Duration // median of the ranks' medians
	FirstRank    int           // the rank with the smallest median
	FirstPercent float64       // difference of its median from Median, in percent
	LastRank     int           // the rank with the largest median
	LastPercent  float64       // difference of its median from Median, in percent
}

// Skew returns the skew of the ranks' times.
func (t *Tally) Skew() Skew {
	order := make([]int, len(t.Ranks))
	median := make([]int64, len(t.Ranks))
	for rank := range t.Ranks {
		order[rank], median[rank] = rank, Quantile(t.Ranks[rank].Times, 50).Nanoseconds()
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(median[a] - median[b]) })
	half := len(order) / 2
	middle := float64(median[order[half]]+median[order[len(order)-1-half]]) / 2
	first, last := order[0], order[len(order)-1]
	percent := func(rank int) float64 { return 100 * (float64(median[rank]) - middle) / middle }
	return Skew{
		Median:    time.Duration(middle),
		FirstRank: first, FirstPercent: percent(first),
		LastRank: last, LastPercent: percent(last),
	}
}

// Quantile returns the q-th percentile of the times in h, a histogram of [NewTimes].
func Quantile(h *hdrhistogram.Histogram, q float64) time.Duration {
	return time.Duration(h.ValueAtQuantile(q))
}
