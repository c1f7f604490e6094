package main

import (
	"context"
	"fmt"
	"time"
)

// work runs barriers back to back. Before each barrier the rank increments its counter in shared
// memory. After the barrier, the counters of all ranks must show that they have entered it.
func (synchronizing) work(ctx context.Context, w *worker, out *outcome) error {
	call := w.performer(newBuffers(w.job))
	if err := call(ctx); err != nil { // warm-up: opens the connections
		return err
	}
	for i := uint64(1); i <= uint64(w.job.Iterations); i++ {
		w.res.counters.enter(w.job.Rank, i)
		start := time.Now()
		if err := call(ctx); err != nil {
			return err
		}
		end := time.Now()
		w.res.counters.check(&out.Wrong, w.job.Rank, i)
		if err := w.batch.add(end.Sub(start), end); err != nil {
			return err
		}
	}
	return nil
}

// counters is shared memory that holds, for each rank, the number of barriers that it has entered.
type counters []counter

// check adds a finding for every rank that has not entered barrier i, which the given rank has just
// left.
func (c counters) check(wrong *findings, rank int, i uint64) {
	for other := range c {
		if entered := c[other].n.Load(); entered < i {
			wrong.add(fmt.Sprintf("rank %d left barrier %d before rank %d had entered it (it had entered %d)", rank, i, other, entered))
		}
	}
}

func (c counters) enter(rank int, i uint64) { c[rank].n.Store(i) }
