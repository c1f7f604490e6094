package cast

import (
	"context"
	"fmt"

	"github.com/schedgen/schedgen/runtime"
)

// sink takes note of how the sink has ended.
func (r *receiver) sink(err error) {
	r.sunk, r.done = true, err == nil && r.why == nil
	if err != nil {
		r.fail(err)
	}
}

// fail gives the sink up, if it has not ended. The first reason counts.
func (r *receiver) fail(why error) {
	if r.why == nil {
		r.why = why
	}
	r.stop(why)
}

// tell tells the sender at once that this rank has given up.
func (r *receiver) tell(ctx context.Context) error {
	if r.why == nil {
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
	defer r.o.Clock.AfterFunc(leaveTime, over).Stop()
	if (account{Rank: r.rank, Reason: errSlowHost.Error(), Behind: true}).publish(ctx, comm) == nil {
		_ = comm.Flush(ctx) // without its last words the sender takes it for lost
	}
}

// report tells the sender how this rank keeps up, now that a piece is given to the sink.
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
	if r.sunk || r.why != nil {
		return nil
	}
	close(r.in.work)
	select {
	case err := <-r.over:
		r.sink(err)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// buffer returns room for a piece. It returns nil if there is none and a piece is under way, for which to wait in its place. It waits
// for the sink no longer than Patience.
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
	if p := r.spare(); p != nil || len(r.pieces.open) > 0 {
		return p, nil
	}
	defer r.meter.wait()()
	late := make(chan struct{})
	defer r.o.Clock.AfterFunc(r.o.Patience, func() { close(late) }).Stop()
	select {
	case p := <-r.in.free:
		return p[:cap(p)], nil
	case err := <-r.over:
		r.sink(err)
	case <-r.slow.told:
		r.fail(errSlowDisk)
	case <-late:
		r.fail(fmt.Errorf("nothing could be written for %v, while others waited", r.o.Patience))
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := r.tell(ctx); err != nil {
		return nil, err
	}
	return r.spare(), nil
}

// spare returns a piece that nobody needs, nil if there is none.
func (r *receiver) spare() []byte {
	select {
	case p := <-r.in.free:
		return p[:cap(p)]
	default:
	}
	if r.made < bufs {
		r.made++
		return make([]byte, r.o.piece)
	}
	if r.why == nil && !r.sunk {
		return nil
	}
	select {
	case p := <-r.in.work: // nobody reads it any more
		return p.piece[:cap(p.piece)]
	default:
		return nil
	}
}
