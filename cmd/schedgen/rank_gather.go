package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// account is the result that a rank sends to rank 0 at the end, over the communicator of the run.
type account struct {
	Rank    int
	Samples []int64
	Outcome *outcome
}

// takePart does the work of this rank over the transport that open opens. At rank 0 it returns the
// results of all ranks, and nil at the others. bar shows the progress at rank 0.
func (s *session) takePart(ctx context.Context, open opening, bar runProgress) (t *tally, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.job.Timeout, &lateError{fmt.Sprintf("not finished after --timeout=%v", s.job.Timeout)})
	defer cancel()
	s.job.log = waitLog(s.std)
	res := resources{input: s.input, schedule: s.flags.file, open: open, position: newPosition(s.job.Rank), log: s.flags.eventLog(s.std)}
	if s.trace, err = s.seen.openTrace(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.trace.close()) }()
	res.trace = s.trace.file()
	pages, err := s.seen.showRank(ctx, res.position, s.job.Link.Coordinator, s.std)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pages.close()) }()
	return s.doPart(ctx, res, pages, bar)
}

// doPart does the work of this rank with its resources. pages, which may be nil, shows its status.
func (s *session) doPart(ctx context.Context, res resources, pages *book, bar runProgress) (*tally, error) {
	defer bar.clear()
	mine := &account{Rank: s.job.Rank}
	w := &worker{job: &s.job, res: res}
	w.send = func(r report) error {
		mine.Samples = append(mine.Samples, r.Samples...)
		bar.add(r.Steps)
		return nil
	}
	w.batch = batch{send: w.send, flushed: time.Now()}
	all, err := w.account(ctx, mine, pages)
	if err != nil {
		return nil, rootCause([]*failure{newFailure(s.job.Rank, causeOf(ctx, err))})
	}
	if s.job.Rank != 0 {
		return nil, nil
	}
	t := newTally(&s.job, runProgress{})
	for _, a := range all {
		t.add(a.Rank, &report{Samples: a.Samples})
		t.finish(a.Rank, a.Outcome)
	}
	return t, nil
}

// account joins, does the work, and gathers the accounts of all ranks at rank 0.
func (w *worker) account(ctx context.Context, mine *account, pages *book) (all []*account, err error) {
	cfg, err := w.job.config()
	if err != nil {
		return nil, err
	}
	if err := w.connect(ctx, &cfg); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.leave()) }()
	if err := pages.joined(ctx, w.comm); err != nil {
		return nil, err
	}
	mine.Outcome = new(outcome)
	if err := w.run(ctx, mine.Outcome); err != nil {
		return nil, err
	}
	mine.Outcome.Repairs = w.comm.Totals().Repairs
	if err := w.batch.flush(); err != nil {
		return nil, err
	}
	if all, err = w.gather(ctx, mine); err != nil {
		return nil, err
	}
	return all, w.comm.Barrier(ctx)
}

// pieceLen is the longest part of an account that one broadcast carries, in bytes.
const pieceLen = 256 << 10

// gather returns the accounts of all ranks at rank 0. The other ranks broadcast theirs in turn, in
// pieces, because an account grows with the iterations. They do not publish them: a rank that
// publishes much depends on the others to take its messages.
func (w *worker) gather(ctx context.Context, mine *account) ([]*account, error) {
	all := []*account{mine}
	for rank := 1; rank < w.job.Params.Ranks; rank++ {
		text, err := w.pass(ctx, mine, rank)
		if err != nil {
			return nil, err
		}
		if w.job.Rank != 0 {
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
func (w *worker) pass(ctx context.Context, mine *account, from int) (text []byte, err error) {
	var rest []byte
	if w.job.Rank == from {
		if rest, err = json.Marshal(mine); err != nil {
			return nil, err
		}
	}
	for {
		piece := rest[:min(len(rest), pieceLen)]
		rest = rest[len(piece):]
		if piece, err = w.comm.BcastBytes(ctx, piece, from); err != nil || len(piece) == 0 {
			return text, err
		}
		if w.job.Rank == 0 {
			text = append(text, piece...)
		}
	}
}

// replied returns the times until all ranks had replied, or nil if they were not measured.
func (s *session) replied(t *tally) *timeObject {
	if !s.job.Replies {
		return nil
	}
	h := newTimes()
	for _, ns := range t.ranks[s.job.Params.Root].outcome.Replied {
		record(h, ns)
	}
	return newTimeObject(h)
}
