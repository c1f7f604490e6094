package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// bench measures with the communicator that the ranks have joined, or with a duplicate of it.
func (w *worker) bench(ctx context.Context, out *outcome) (err error) {
	measure := w.measure
	if w.job.Operation == opAnycastLoop {
		measure = w.measureLoops
	}
	if !w.job.Dup {
		return measure(ctx, out)
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
	return measure(ctx, out)
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
		got, err := w.operation(ctx, buf)
		if err != nil {
			return err
		}
		took := time.Since(start)
		checkMark(&out.Wrong, got, len(buf), i)
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

// measureLoops times loops of rootless messages from one origin. Of each it keeps the time from
// the barrier before the loop until this rank has published, or taken, the last message, divided
// by the messages. A barrier after the loop lets no rank begin the next one early.
func (w *worker) measureLoops(ctx context.Context, out *outcome) error {
	buf := make([]byte, w.job.Size)
	times := make([]int64, loops)
	for k := -1; k < loops; k++ {
		messages := w.job.Iterations
		if k < 0 {
			messages = max(messages/10, 10)
		}
		if err := w.comm.Barrier(ctx); err != nil {
			return err
		}
		start := time.Now()
		for i := range messages {
			if w.job.Rank == w.job.Params.Root {
				mark(buf, i)
			}
			got, err := w.rootless(ctx, buf)
			if err != nil {
				return err
			}
			checkMark(&out.Wrong, got, len(buf), i)
		}
		if k >= 0 {
			times[k] = int64(time.Since(start)) / int64(messages)
		}
	}
	if err := w.comm.Barrier(ctx); err != nil {
		return err
	}
	return w.send(report{Samples: times})
}

// operation is what is timed. It returns the message, which is in buf at the root
// and comes there at the others unless it is rootless.
func (w *worker) operation(ctx context.Context, buf []byte) ([]byte, error) {
	switch w.job.Operation {
	case opBarrier:
		return buf, w.comm.Barrier(ctx)
	case opAnycast:
		return w.rootless(ctx, buf)
	}
	err := w.comm.Bcast(ctx, buf, w.job.Params.Root)
	if err != nil || w.job.Operation == opBcast || w.job.Operation == opBcastAck && repliesItself(w.job.Algorithm) {
		return buf, err
	}
	return buf, w.comm.Barrier(ctx)
}

// rootless publishes the message at its origin and takes it at the others.
func (w *worker) rootless(ctx context.Context, buf []byte) ([]byte, error) {
	if w.job.Rank == w.job.Params.Root {
		return buf, w.comm.Publish(ctx, buf)
	}
	msg, err := w.comm.Next(ctx)
	return msg.Data, err
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

// checkMark looks for the length and the marks: enough to see that it was this message that
// was timed. Whether all bytes come through is for run to see.
func checkMark(wrong *findings, buf []byte, size, iteration int) {
	if len(buf) != size || size > 0 && (buf[0] != byte(iteration) || buf[size-1] != byte(iteration)) {
		wrong.add(fmt.Sprintf("iteration %d: the message is not that of this iteration", iteration))
	}
}
