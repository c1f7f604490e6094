package cast

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/schedgen/schedgen/runtime"
)

// roll collects the accounts that the ranks of a communicator publish.
type roll struct {
	comm *runtime.Comm
	tell func(*account) // called with each account as it comes

	parts []*account // by rank: an account whose answer has not come completely
	over  chan struct{}
	why   error // why no more accounts come; valid once over is closed

	mu    sync.Mutex
	said  [][]*account // by rank: the accounts of roll calls, the oldest first
	fresh chan struct{}
}

// hear listens over comm until comm is closed or fails, or ctx ends. Every rank must listen: an
// account goes to all ranks, and a rank that does not take it holds it up.
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

// take processes a message of a rank.
func (r *roll) take(msg runtime.Message) {
	a := new(account)
	if err := json.Unmarshal(msg.Data, a); err != nil {
		return // a rank that has the key can send anything
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

// call exchanges the accounts of all ranks, and returns them by rank. When it returns, all other
// ranks have mine.
//
// Most accounts matter only to the sender. They are published together, because with a broadcast
// for each account, every broadcast could wait for lost packets. The barrier fails if a rank is
// gone.
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

// next returns the next account of a rank in a roll call. It has come, or is about to be processed.
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
			return nil, fmt.Errorf("hear the account of rank %d: %w", rank, r.why)
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
