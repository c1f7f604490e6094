package crew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/schedgen/schedgen/runtime"
)

// account is the result that a rank sends to rank 0 at the end, over the communicator of the run.
type account struct {
	Rank    int
	Samples []int64
	Outcome *Outcome
}

// TakePart does the job of one rank, while the others do theirs, and returns at rank 0 the results
// of all ranks. It returns nil at the others. joined is called once the ranks are connected, with a
// communicator on which the job publishes nothing.
// progress, if not nil, is told the steps of this rank. The error is an [*Error].
func TakePart(ctx context.Context, j *Job, res Resources, joined func(context.Context, *runtime.Comm) error, progress func(steps int)) (*Tally, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, j.Timeout, &timeError{fmt.Sprintf("not finished after --timeout=%v", j.Timeout)})
	defer cancel()
	mine := &account{Rank: j.Rank}
	w := &worker{job: j, res: res}
	w.send = func(r report) error {
		mine.Samples = append(mine.Samples, r.Samples...)
		if progress != nil {
			progress(r.Steps)
		}
		return nil
	}
	w.batch = batch{send: w.send, flushed: time.Now()}
	all, err := w.account(ctx, mine, joined)
	if err != nil {
		return nil, rootCause([]*failure{newFailure(j.Rank, CauseOf(ctx, err))})
	}
	if j.Rank != 0 {
		return nil, nil
	}
	t := NewTally(j.Params.Ranks, nil)
	for _, a := range all {
		t.add(a.Rank, &report{Samples: a.Samples})
		t.finish(a.Rank, a.Outcome)
	}
	return t, nil
}

// account joins, does the work, and gathers the accounts of all ranks at rank 0.
func (w *worker) account(ctx context.Context, mine *account, joined func(context.Context, *runtime.Comm) error) (all []*account, err error) {
	cfg, err := w.job.config(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.connect(ctx, &cfg); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.leave()) }()
	pages := w.comm
	if w.job.Row().Published { // the work publishes messages of its own
		if pages, err = w.comm.Dup(ctx); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, pages.Close()) }()
	}
	if err := joined(ctx, pages); err != nil {
		return nil, err
	}
	mine.Outcome = new(Outcome)
	if err := w.doTask(ctx, mine.Outcome); err != nil {
		return nil, err
	}
	mine.Outcome.Repairs = w.comm.Totals().Repairs
	if err := w.batch.flush(); err != nil {
		return nil, err
	}
	// A Dup does not have the schedule of a file, which may be for broadcasts of one length.
	apart, err := w.comm.Dup(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, apart.Close()) }()
	if all, err = gather(ctx, apart, mine); err != nil {
		return nil, err
	}
	return all, apart.Barrier(ctx)
}

// pieceLen is the longest part of an account that one broadcast carries, in bytes.
const pieceLen = 256 << 10

// gather returns the accounts of all ranks of c at rank 0. The other ranks broadcast theirs in turn,
// in pieces, because an account grows with the iterations. They do not publish them: a rank that
// publishes much depends on the others to take its messages.
func gather(ctx context.Context, c *runtime.Comm, mine *account) ([]*account, error) {
	all := []*account{mine}
	for rank := 1; rank < c.Size(); rank++ {
		text, err := pass(ctx, c, mine, rank)
		if err != nil {
			return nil, err
		}
		if c.Rank() != 0 {
			continue
		}
		a := new(account)
		if err := json.Unmarshal(text, a); err != nil || a.Rank != rank || a.Outcome == nil {
			return nil, fmt.Errorf("rank %d: its account cannot be read: %v", rank, err)
		}
		all = append(all, a)
	}
	return all, nil
}

// pass broadcasts the account of rank from, which is mine at that rank, and returns its text at
// rank 0. An empty piece ends it.
func pass(ctx context.Context, c *runtime.Comm, mine *account, from int) (text []byte, err error) {
	var rest []byte
	if c.Rank() == from {
		if rest, err = json.Marshal(mine); err != nil {
			return nil, err
		}
	}
	for {
		piece := rest[:min(len(rest), pieceLen)]
		rest = rest[len(piece):]
		if piece, err = c.BcastBytes(ctx, piece, from); err != nil || len(piece) == 0 {
			return text, err
		}
		if c.Rank() == 0 {
			text = append(text, piece...)
		}
	}
}
