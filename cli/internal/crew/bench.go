package crew

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/schedgen/schedgen/schedule"
)

// Operation is an operation that bench times.
type Operation struct {
	Name    string
	Replied bool // ends at the root, when all other ranks have replied that they have the message
	Barrier bool // a barrier follows and is timed, too
	Loop    bool // messages are published in a tight loop, which is timed as a whole
}

// Loops is the number of times that a loop of messages is run, as in paper 001 (section 3.1).
const Loops = 4

// Samples returns the number of times that each rank of a job reports.
func (j *Job) Samples() int {
	if j.Operation.Loop {
		return Loops
	}
	return j.Iterations
}

// ReplyBarrier is the barrier by which ranks reply to the root of a broadcast. Rank 0, the root of
// the barrier, returns as soon as all other ranks have checked in.
const ReplyBarrier = "barrier/hsb"

// bench measures with the communicator that the ranks have joined, or with a duplicate of it.
func (w *worker) bench(ctx context.Context, out *Outcome) (err error) {
	op := w.job.Operation
	measure := func() error { return w.measure(ctx, &op, out) }
	if op.Loop {
		measure = func() error { return w.measureLoops(ctx, out) }
	}
	if !w.job.Dup {
		return measure()
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
	return measure()
}

// measure runs the operation repeatedly and keeps this rank's time of each. It sends the times when
// all operations are over.
func (w *worker) measure(ctx context.Context, op *Operation, out *Outcome) error {
	b := newBuffers(w.job)
	do := w.timedCall(op, b)
	times := make([]int64, w.job.Iterations)
	for i := -max(w.job.Iterations/10, 10); i < w.job.Iterations; i++ {
		b.mark(i)
		if err := w.comm.Barrier(ctx); err != nil {
			return err
		}
		start := time.Now()
		if err := do(ctx); err != nil {
			return err
		}
		took := time.Since(start)
		b.check(&out.Wrong, i)
		if i >= 0 && op.timedAt(w.job.Rank == w.job.Params.Root) {
			times[i] = int64(took)
		}
	}
	// Reporting takes time: wait until the last operation is over at all ranks.
	if err := w.comm.Barrier(ctx); err != nil {
		return err
	}
	return w.send(report{Samples: times})
}

// measureLoops times loops of rootless messages from one origin. The time of a loop runs from the
// barrier before it until this rank has published, or taken, the last message; it is divided by the
// number of messages. The barrier keeps ranks from beginning a loop early.
func (w *worker) measureLoops(ctx context.Context, out *Outcome) error {
	b := newBuffers(w.job)
	times := make([]int64, Loops)
	for k := -1; k < Loops; k++ {
		messages := w.job.Iterations
		if k < 0 {
			messages = max(messages/10, 10)
		}
		if err := w.comm.Barrier(ctx); err != nil {
			return err
		}
		start := time.Now()
		for i := range messages {
			b.mark(i)
			if err := w.publishOrTake(ctx, b); err != nil {
				return err
			}
			b.check(&out.Wrong, i)
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

// timedCall returns the function that is timed: the call that moves the blocks of b, and the
// barrier that follows it if the operation has one.
func (w *worker) timedCall(op *Operation, b *buffers) func(ctx context.Context) error {
	if w.job.Row().Published {
		return func(ctx context.Context) error { return w.publishOrTake(ctx, b) }
	}
	call := w.performer(b)
	if !op.Barrier && (!op.Replied || schedule.Acknowledged(w.job.Algorithm)) {
		return call
	}
	return func(ctx context.Context) error {
		if err := call(ctx); err != nil {
			return err
		}
		return w.comm.Barrier(ctx)
	}
}

// publishOrTake publishes the message at its origin and takes it at the others.
func (w *worker) publishOrTake(ctx context.Context, b *buffers) error {
	if w.job.Rank == w.job.Params.Root {
		return w.comm.Publish(ctx, b.src)
	}
	msg, err := w.comm.Next(ctx)
	b.dst = msg.Data
	return err
}

// timedAt reports whether the time of the root, or of another rank, counts. Only the root waits for
// replies.
func (op *Operation) timedAt(root bool) bool { return !op.Replied || root }

// mark sets the first and the last byte of each block that the rank holds to a value that depends
// on the iteration and the block.
func (b *buffers) mark(iteration int) {
	if b.fold != nil {
		b.markContributions(iteration)
		return
	}
	for i := range b.held.Count {
		if buf, m := b.sent(i), byte(iteration+b.held.At(i)); len(buf) > 0 {
			buf[0], buf[len(buf)-1] = m, m
		}
	}
}

// check compares the lengths and marks of the received blocks, which shows that they belong to this
// iteration. The verb run compares all bytes.
func (b *buffers) check(wrong *Findings, iteration int) {
	want := 0
	for _, n := range b.out {
		want += n
	}
	if len(b.dst) != want {
		wrong.Add(fmt.Sprintf("iteration %d: received %d bytes, not %d", iteration, len(b.dst), want))
		return
	}
	for i := range b.wanted.Count {
		if b.fold != nil {
			if !b.checkElements(b.received(i), iteration, b.wanted.At(i)) {
				wrong.Add(fmt.Sprintf("iteration %d: block %d is not folded from those of this iteration", iteration, b.wanted.At(i)))
			}
			continue
		}
		if buf, m := b.received(i), byte(iteration+b.wanted.At(i)); len(buf) > 0 && (buf[0] != m || buf[len(buf)-1] != m) {
			wrong.Add(fmt.Sprintf("iteration %d: block %d is not that of this iteration", iteration, b.wanted.At(i)))
		}
	}
}
