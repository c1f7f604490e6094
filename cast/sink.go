package cast

import (
	"context"
	"encoding/json"
	"fmt"
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
	a := r.account()
	text, err := json.Marshal(&a)
	if err != nil {
		return fmt.Errorf("tell the sender: %w", err)
	}
	return r.comm.Publish(ctx, text)
}

// listen hears from the sender that this rank is too slow.
func (r *receiver) listen(a *account) {
	if a.Sender && a.Slow == r.rank {
		r.slow.once.Do(func() { close(r.slow.told) })
	}
}

// report tells the sender how this rank keeps up, now that a piece is given to the sink.
func (r *receiver) report(ctx context.Context, bytes int) error {
	r.meter.bytes += int64(bytes)
	w := r.meter.window()
	if w == nil {
		return nil
	}
	text, err := json.Marshal(&account{Rank: r.rank, Have: r.have, Window: w})
	if err != nil {
		return fmt.Errorf("tell the sender how this rank keeps up: %w", err)
	}
	return r.comm.Publish(ctx, text)
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
	if p := r.spare(); p != nil || len(r.open) > 0 {
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
		r.fail(ErrSlow)
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
