package cast

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/schedgen/schedgen/runtime"
)

// roll is what the ranks of a communicator say beside the pieces.
type roll struct {
	comm *runtime.Comm
	tell func(*account) // is called with all that others say, as it comes

	parts []*account // by rank: one whose answer has not come as a whole
	over  chan struct{}
	why   error // that nothing more is heard; valid once over is closed

	mu    sync.Mutex
	said  [][]*account // by rank: what it has said when all did, the oldest first
	fresh chan struct{}
}

// hear begins to listen over comm, until that is closed or has failed, or ctx has ended. Every rank
// listens: what a rank says goes to all, and who takes nothing holds it up.
func hear(ctx context.Context, wg *sync.WaitGroup, comm *runtime.Comm, tell func(*account)) *roll {
	r := &roll{
		comm: comm, tell: tell, parts: make([]*account, comm.Size()), said: make([][]*account, comm.Size()),
		over: make(chan struct{}), fresh: make(chan struct{}, 1),
	}
	wg.Go(func() {
		defer close(r.over)
		for msg, err := range comm.Messages(ctx) {
			if err != nil {
				r.why = err
				return
			}
			r.take(msg)
		}
	})
	return r
}

// take takes what a rank has said.
func (r *roll) take(msg runtime.Message) {
	a := new(account)
	if err := json.Unmarshal(msg.Data, a); err != nil {
		return // whoever has the key can say anything
	}
	if whole := r.parts[msg.Origin]; whole != nil {
		whole.Answer = append(whole.Answer, a.Answer...)
		whole.More, a = a.More, whole
		if len(a.Answer) > maxAnswer {
			a.Answer, a.Done, a.Reason = nil, false, fmt.Sprintf("it answers with more than %d bytes", maxAnswer)
		}
	}
	r.parts[msg.Origin] = nil
	if a.More {
		r.parts[msg.Origin] = a
		return
	}
	r.tell(a)
	if !a.Roll {
		return
	}
	r.mu.Lock()
	r.said[msg.Origin] = append(r.said[msg.Origin], a)
	r.mu.Unlock()
	select {
	case r.fresh <- struct{}{}:
	default:
	}
}

// call has all ranks tell each other their accounts, and returns them, by rank. All have been told
// of mine then.
//
// Only the sender needs most of them. They come all at once and not each by a broadcast of its own,
// of which every one may have to wait for what is lost. A rank that is gone shows in the barrier.
func (r *roll) call(ctx context.Context, mine account) ([]*account, error) {
	mine.Roll = true
	if err := mine.publish(ctx, r.comm); err != nil {
		return nil, err
	}
	if err := r.comm.Flush(ctx); err != nil {
		return nil, err
	}
	if err := r.comm.Barrier(ctx); err != nil {
		return nil, err
	}
	all := make([]*account, r.comm.Size())
	for rank := range all {
		a := &mine
		if rank != r.comm.Rank() {
			var err error
			if a, err = r.next(ctx, rank); err != nil {
				return nil, err
			}
		}
		if a.Sender != (rank == 0) {
			return nil, fmt.Errorf("the account of rank %d: %w", rank, errSender)
		}
		all[rank] = a
	}
	return all, nil
}

// next returns what a rank has said when all did. That has come already, or is about to be taken.
func (r *roll) next(ctx context.Context, rank int) (*account, error) {
	for {
		if a := r.pop(rank); a != nil {
			return a, nil
		}
		select {
		case <-r.fresh:
		case <-r.over:
			if a := r.pop(rank); a != nil {
				return a, nil
			}
			return nil, fmt.Errorf("hear how rank %d stands: %w", rank, r.why)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (r *roll) pop(rank int) *account {
	r.mu.Lock()
	defer r.mu.Unlock()
	said := r.said[rank]
	if len(said) == 0 {
		return nil
	}
	r.said[rank] = said[1:]
	return said[0]
}
