package group

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/runtime"
)

// Advance is a collective call of all members: it returns the communicator for the operations up to
// the next call. Without a newer view it returns the same communicator as before, and takes one
// short broadcast. Otherwise it returns when all members of the newest view have called it, and
// closes the old communicator. The first call of a new member takes part in this. Wait for all open
// requests before the call.
//
// When the communicator has failed, all members call Advance to get another communicator; if no
// member has died, it has the same members. While Advance waits, another goroutine must take
// arriving messages if there is more than a window of them for each member. Advance ends with the
// membership. The Group closes the communicator.
func (g *Group) Advance(ctx context.Context) (*runtime.Comm, error) {
	if ctx == nil {
		return nil, fmt.Errorf("advance: %w", errNoContext)
	}
	if !g.advance.TryLock() {
		return nil, runtime.ErrBusy
	}
	defer g.advance.Unlock()
	ctx, done := g.within(ctx)
	defer done()
	if g.isLeaving() {
		return nil, fmt.Errorf("advance: %w", ErrLeft)
	}
	old := g.working
	if old != nil {
		stay, err := g.agree(ctx, old)
		if err != nil {
			return nil, fmt.Errorf("advance: %w", err)
		}
		if stay {
			return old.work, nil
		}
	}
	e, err := g.gather(ctx, old)
	if err != nil {
		return nil, fmt.Errorf("advance: %w", err)
	}
	g.working = e
	if old != nil {
		g.retire(old)
	}
	return e.work, nil
}

// within returns a context that ends with ctx, or with the membership.
func (g *Group) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(g.ctx, func() { cancel(context.Cause(g.ctx)) })
	return ctx, func() {
		stop()
		cancel(context.Canceled)
	}
}

// isLeaving reports whether Leave has been called.
func (g *Group) isLeaving() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leaving
}

// agree reports whether the members of old go on with it: its rank 0 says which is the newest view
// that has begun. If old has failed, the members do not go on with it, and another view must
// follow.
func (g *Group) agree(ctx context.Context, old *era) (stay bool, err error) {
	var epoch [4]byte
	binary.BigEndian.PutUint32(epoch[:], g.View().Epoch)
	err = old.work.Bcast(ctx, epoch[:], 0)
	switch {
	case err == nil:
		return binary.BigEndian.Uint32(epoch[:]) == old.view.Epoch, nil
	case g.ctx.Err() != nil:
		return false, context.Cause(g.ctx)
	case ctx.Err() != nil:
		return false, err
	}
	return false, g.cfg.Manager.Report(ctx, old.view.Epoch)
}

// gather returns the first era after old in which all members are ready.
func (g *Group) gather(ctx context.Context, old *era) (*era, error) {
	for {
		e, err := g.await(ctx, func() bool { return g.open && g.era != old || g.leaving })
		if err != nil {
			return nil, err
		}
		if err := g.announce(ctx, e); err != nil {
			if ctx.Err() != nil || errors.Is(err, ErrLeft) {
				return nil, err
			}
			if _, err := g.await(ctx, func() bool { return g.era != e }); err != nil {
				return nil, err
			}
			continue
		}
		if _, err := g.await(ctx, func() bool { return e.unready == 0 || g.era != e }); err != nil {
			g.retire(e) // the others may count on this member
			return nil, err
		}
		g.mu.Lock()
		all := e.unready == 0
		g.mu.Unlock()
		if all {
			return e, nil
		}
	}
}

// announce tells the members of e, if e is still open, that this member is ready.
func (g *Group) announce(ctx context.Context, e *era) error {
	now, err := g.begin(ctx)
	if err != nil {
		return err
	}
	defer g.pass()
	if now != e {
		return nil
	}
	g.mu.Lock()
	done := e.ready[e.rank]
	g.mu.Unlock()
	if done {
		return nil
	}
	if err := e.comm.Publish(ctx, []byte{byte(recordReady)}); err != nil {
		return err
	}
	g.setReady(e, e.rank)
	return nil
}

// setReady records that a rank of e is ready.
func (g *Group) setReady(e *era, rank int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !e.ready[rank] {
		e.ready[rank] = true
		e.unready--
		g.wakeWaiters()
	}
}
