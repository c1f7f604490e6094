package crew

import (
	"context"
	"time"
)

// trial prepares the buffers of a rank for an operation, and checks the operation afterwards. It is
// not timed. Iteration -1 is the warm-up, which opens the connections.
type trial interface {
	prepare(iteration int)
	check(wrong *Findings, iteration int)
	end(ctx context.Context, wrong *Findings) error // after the last operation
}

// newTrial returns the trial for the job's collective.
func (w *worker) newTrial(b *buffers) (trial, error) {
	switch row := w.job.Row(); {
	case row.Broadcasts():
		return newMessage(w.job, b.dst, w.res.Input)
	case row.Blocks == nil && w.res.counters == nil:
		return &lateness{comm: w.comm, call: w.performer(b)}, nil
	case row.Blocks == nil:
		return &entries{w.res.counters, w.job.Rank}, nil
	}
	return newPattern(b), nil
}

// repeat runs the collective once to warm up and then once in each iteration. If it moves bytes,
// all ranks meet at a barrier before each call, so that the time is the collective's alone.
func (w *worker) repeat(ctx context.Context, out *Outcome) error {
	b, moves := newBuffers(w.job), w.job.Row().Blocks != nil
	call := w.performer(b)
	t, err := w.newTrial(b)
	if err != nil {
		return err
	}
	meet := func(ctx context.Context) error {
		if !moves {
			return nil
		}
		return w.comm.Barrier(ctx)
	}
	for i := -1; i < w.job.Iterations; i++ {
		t.prepare(i)
		if err := meet(ctx); err != nil {
			return err
		}
		start := time.Now()
		if err := call(ctx); err != nil {
			return err
		}
		end := time.Now()
		if err := w.replies(ctx, start, end, i, out); err != nil {
			return err
		}
		t.check(&out.Wrong, i)
		if i < 0 {
			continue
		}
		if moves {
			t := w.comm.Totals()
			out.McastChunks += uint64(t.LastMcastChunks)
			out.PutChunks += uint64(t.LastPutChunks)
		}
		if err := w.batch.add(end.Sub(start), end); err != nil {
			return err
		}
	}
	if err := meet(ctx); err != nil {
		return err
	}
	return t.end(ctx, &out.Wrong)
}

// replies records at the root the time from its call until every rank has told that it has the
// message. After an algorithm without acknowledgements the ranks run a barrier for that.
func (w *worker) replies(ctx context.Context, start, end time.Time, iteration int, out *Outcome) error {
	if !w.job.Replies {
		return nil
	}
	if !w.job.Acked {
		if err := w.comm.Barrier(ctx); err != nil {
			return err
		}
		end = time.Now()
	}
	if iteration >= 0 && w.job.Rank == w.job.Params.Root {
		out.Replied = append(out.Replied, int64(end.Sub(start)))
	}
	return nil
}
