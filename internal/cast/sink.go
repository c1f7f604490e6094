package cast

import (
	"context"
	"fmt"

	"github.com/schedgen/schedgen/runtime"
)

// giveUp tells the sender at once that this rank takes no more data, if that is so.
func (r *receiver) giveUp(ctx context.Context) error {
	if r.why == nil && r.out == nil {
		return nil
	}
	return r.account().publish(ctx, r.comm)
}

// listen handles an account. It acts if the sender says that this rank is too slow.
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

// leave tells the sender why this rank leaves, and makes it leave.
func (r *receiver) leave(ctx context.Context, comm *runtime.Comm) {
	defer r.slow.leave(errSlowHost)
	ctx, over := context.WithCancel(ctx)
	defer over()
	defer r.clock.AfterFunc(leaveTime, over).Stop()
	if (account{Rank: r.rank, Reason: errSlowHost.Error(), Behind: true}).publish(ctx, comm) == nil {
		_ = comm.Flush(ctx) // without this account, the sender takes the rank for lost
	}
}

// takes reports whether the sink gets more data.
func (r *receiver) takes() bool { return r.why == nil && r.out == nil && !r.sunk }

// hand gives the new part of a piece to the sink, and reports to the sender once a window.
func (r *receiver) hand(ctx context.Context, piece []byte, length int) error {
	known := int(min(r.known, int64(length)))
	r.known -= int64(known)
	switch {
	case known == length:
		r.in.free <- piece
		return nil
	case r.whole:
		return fmt.Errorf("%w: more data than over an earlier communicator", errPiece)
	}
	r.have += int64(length - known)
	r.in.work <- parcel{piece, piece[headLen+known : headLen+length]}
	return r.report(ctx, length-known)
}

// report counts bytes given to the sink. Once a window, it tells the sender how this rank keeps up.
func (r *receiver) report(ctx context.Context, bytes int) error {
	r.meter.bytes += int64(bytes)
	w := r.meter.window()
	if w == nil {
		return nil
	}
	return account{Rank: r.rank, Have: r.pieces.have, Window: w}.publish(ctx, r.comm)
}

// finish waits for the sink to end, after the last piece.
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

// buffer returns memory for a piece. If there is none, it returns nil while a broadcast is under
// way, and otherwise waits for the sink, but no longer than Patience.
func (r *receiver) buffer(ctx context.Context) ([]byte, error) {
	if !r.sunk {
		select {
		case err := <-r.over:
			r.sink(err)
			if err := r.giveUp(ctx); err != nil {
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
	if err := r.giveUp(ctx); err != nil {
		return nil, err
	}
	return r.spare(r.most(), r.o.piece), nil
}

// most returns the greatest number of pieces at this rank. If the rank is left out, its sink keeps
// the pieces that it has, and the rank forwards with others.
func (r *receiver) most() int {
	if r.out != nil {
		return bufs + window
	}
	return bufs
}
