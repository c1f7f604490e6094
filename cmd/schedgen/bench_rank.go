package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// bench measures with the communicator that the ranks have joined, or with a duplicate of it.
func (w *worker) bench(ctx context.Context, out *outcome) (err error) {
	if !w.job.Dup {
		return w.measure(ctx, out)
	}
	joined := w.comm
	twin, err := joined.Dup(ctx)
	if err != nil {
		return err
	}
	w.comm = twin
	defer func() {
		w.comm = joined
		err = errors.Join(err, twin.Close())
	}()
	return w.measure(ctx, out)
}

// measure does the operation again and again and keeps its own time of each
// until all are over.
func (w *worker) measure(ctx context.Context, out *outcome) error {
	buf := make([]byte, w.job.Size)
	times := make([]int64, w.job.Iterations)
	for i := -max(w.job.Iterations/10, 10); i < w.job.Iterations; i++ {
		if w.job.Rank == w.job.Params.Root {
			mark(buf, i)
		}
		if err := w.comm.Barrier(ctx); err != nil {
			return err
		}
		start := time.Now()
		if err := w.operation(ctx, buf); err != nil {
			return err
		}
		took := time.Since(start)
		checkMark(&out.Wrong, buf, i)
		if i >= 0 && w.timed() {
			times[i] = int64(took)
		}
	}
	// Whoever is done reports, which the last operation of others must not wait for.
	if err := w.comm.Barrier(ctx); err != nil {
		return err
	}
	return w.send(report{Samples: times})
}

// operation is what is timed.
func (w *worker) operation(ctx context.Context, buf []byte) error {
	if w.job.Operation == opBarrier {
		return w.comm.Barrier(ctx)
	}
	err := w.comm.Bcast(ctx, buf, w.job.Params.Root)
	if err != nil || w.job.Operation == opBcast || w.job.Operation == opBcastAck && repliesItself(w.job.Algorithm) {
		return err
	}
	return w.comm.Barrier(ctx)
}

// timed reports whether this rank's time counts: replies are waited for at
// the root alone.
func (w *worker) timed() bool {
	return w.job.Operation != opBcastAck || w.job.Rank == w.job.Params.Root
}

// mark makes the message of an iteration unlike the one before, at both ends.
func mark(buf []byte, iteration int) {
	if len(buf) > 0 {
		buf[0], buf[len(buf)-1] = byte(iteration), byte(iteration)
	}
}

// checkMark looks for the marks: enough to see that it was this broadcast that
// was timed. Whether all bytes come through is for run to see.
func checkMark(wrong *findings, buf []byte, iteration int) {
	if len(buf) > 0 && (buf[0] != byte(iteration) || buf[len(buf)-1] != byte(iteration)) {
		wrong.add(fmt.Sprintf("iteration %d: the message is not that of this iteration", iteration))
	}
}
