package group

import (
	"context"
	"errors"
	"fmt"
)

// Leave ends the membership in good order. It returns when the others have everything that this
// member has published, and go on without it. From the call on, Publish and Advance fail with
// ErrLeft; messages that have arrived may still be taken. If ctx ends first, call Leave again, or
// Close.
func (g *Group) Leave(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("leave group %q: %w", g.cfg.Name, errNoContext)
	}
	if err := g.leave(ctx); err != nil && !errors.Is(err, ErrLeft) {
		return fmt.Errorf("leave group %q: %w", g.cfg.Name, err)
	}
	return nil
}

func (g *Group) leave(ctx context.Context) error {
	g.mu.Lock()
	g.leaving = true
	g.wakeWaiters()
	g.mu.Unlock()
	if err := g.deliver(ctx); err != nil {
		return err
	}
	g.mu.Lock()
	g.left = true
	g.mu.Unlock()
	// The view without this member may come before the answer, and closes the manager.
	if err := g.cfg.Manager.Leave(ctx); err != nil && !errors.Is(g.Err(), ErrLeft) {
		return err
	}
	select {
	case <-g.over:
		return g.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// deliver returns when all others have everything that this member has published, and know that it
// leaves: when the next view begins. It asks for a view, since no other member may ask.
func (g *Group) deliver(ctx context.Context) error {
	if err := g.take(ctx); err != nil {
		return err
	}
	g.pass()
	e, err := g.await(ctx, func() bool { return g.era != nil })
	if err != nil || len(e.view.Members) == 1 {
		return err
	}
	if err := g.cfg.Manager.Report(ctx, e.view.Epoch); err != nil {
		return err
	}
	_, err = g.await(ctx, func() bool { return g.era != e })
	return err
}
