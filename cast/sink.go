package cast

import (
	"context"
	"fmt"

	"github.com/schedgen/schedgen/runtime"
)

// tell tells the sender at once that this rank takes nothing more.
func (r *receiver) tell(ctx context.Context) error {
	if r.why == nil && r.out == nil {
		return nil
	}
	return r.account().publish(ctx, r.comm)
}

// listen hears from the sender that this rank is too slow.
func (r *receiver) listen(ctx context.Context, comm *runtime.Comm, a *account) {
	if !a.Sender || a.Slow != r.rank {
		return
	}
	r.slow.once.Do(func() {
		if a.Leave {
			r.wg.Go(func() { r.leave(ctx, comm) })
		} else {
			close(r.slow.told)
		}
	})
}

// leave says why this rank goes, and has it go.
func (r *receiver) leave(ctx context.Context, comm *runtime.Comm) {
	defer r.slow.leave(errSlowHost)
	ctx, over := context.WithCancel(ctx)
	defer over()
	defer r.clock.AfterFunc(leaveTime, over).Stop()
	if (account{Rank: r.rank, Reason: errSlowHost.Error(), Behind: true}).publish(ctx, comm) == nil {
		_ = comm.Flush(ctx) // without its last words the sender takes it for lost
	}
}

// takes reports whether the sink gets more of what comes.
func (r *receiver) takes() bool { return r.why == nil && r.out == nil && !r.sunk }

// hand gives the sink what is new to it of a piece, and tells the sender now and then how this rank
// keeps up.
func (r *receiver) hand(ctx context.Context, piece []byte, length int) error {
	known := int(min(r.known, int64(length)))
	r.known -= int64(known)
	switch {
	case known == length:
		r.in.free <- piece
		return nil
	case r.whole:
		return fmt.Errorf("%w: more comes than there was by an earlier communicator", errPiece)
	}
	r.have += int64(length - known)
	r.in.work <- parcel{piece, piece[headLen+known : headLen+length]}
	return r.report(ctx, length-known)
}

// report tells the sender how this rank keeps up, now that so many bytes are given to the sink.
func (r *receiver) report(ctx context.Context, bytes int) error {
	r.meter.bytes += int64(bytes)
	w := r.meter.window()
	if w == nil {
		return nil
	}
	return account{Rank: r.rank, Have: r.pieces.have, Window: w}.publish(ctx, r.comm)
}

// finish waits for the sink to end, once all has come.
func (r *receiver) finish(ctx context.Context) error {
	if !r.takes() {
		return nil
	}
	if !r.whole {
		r.whole = true
		close(r.in.work)
	}
	select {
	case err := <-r.over:
		r.sink(err)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// buffer returns room for a piece. It returns nil if there is none and a piece is under way, for
// which to wait in its place. It waits for the sink no longer than Patience.
func (r *receiver) buffer(ctx context.Context) ([]byte, error) {
	if !r.sunk {
		select {
		case err := <-r.over:
			r.sink(err)
			if err := r.tell(ctx); err != nil {
				return nil, err
			}
		default:
		}
	}
	if p := r.spare(r.most(), r.o.piece); p != nil || len(r.pieces.open) > 0 {
		return p, nil
	}
	defer r.meter.wait()()
	late := make(chan struct{})
	defer r.clock.AfterFunc(r.o.Patience, func() { close(late) }).Stop()
	select {
	case p := <-r.in.free:
		return p[:cap(p)], nil
	case err := <-r.over:
		r.sink(err)
	case <-r.slow.told:
		r.out = errSlowDisk
	case <-late:
		r.fail(fmt.Errorf("nothing could be written for %v, while others waited", r.o.Patience))
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := r.tell(ctx); err != nil {
		return nil, err
	}
	return r.spare(r.most(), r.o.piece), nil
}

// most returns how many pieces this rank has at most: when it is left out its sink goes on with
// those that it has, and others pass through.
func (r *receiver) most() int {
	if r.out != nil {
		return bufs + window
	}
	return bufs
}
