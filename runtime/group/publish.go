package group

import (
	"context"
	"fmt"

	"github.com/schedgen/schedgen/runtime"
)

// publisher is this member as an origin.
type publisher struct {
	turn   chan struct{} // held by the goroutine that publishes or stops publishing; guards the fields below
	own    *past         // in the Group's history
	record []byte
}

// Publish sends msg to all other members of the current view; see the package comment for the
// guarantees. It waits while a view changes, and whenever [runtime.Comm.Publish] would wait. msg
// may be reused when it returns. If it returns an error, msg is not sent.
func (g *Group) Publish(ctx context.Context, msg []byte) error {
	if ctx == nil {
		return fmt.Errorf("publish: %w", errNoContext)
	}
	if len(msg) > g.cfg.Comm.MaxMessage {
		return fmt.Errorf("publish: %w: %d bytes, at most %d", runtime.ErrTooLarge, len(msg), g.cfg.Comm.MaxMessage)
	}
	for {
		e, err := g.publish(ctx, msg)
		if err == nil {
			return nil
		}
		if e == nil || ctx.Err() != nil || e.comm.Err() == nil {
			return fmt.Errorf("publish: %w", err)
		}
		if _, err := g.await(ctx, func() bool { return g.era != e }); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
	}
}

// publish tries once. It returns the era that it has used.
func (g *Group) publish(ctx context.Context, msg []byte) (*era, error) {
	e, err := g.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer g.pass()
	g.record = appendData(g.record[:0], g.own.next, msg)
	if err := e.comm.Publish(ctx, g.record); err != nil {
		return e, err
	}
	g.history.add(g.own, e.view.Epoch, msg)
	return e, nil
}

// begin waits for the turn and returns the era to publish in.
func (g *Group) begin(ctx context.Context) (*era, error) {
	for {
		if _, err := g.await(ctx, func() bool { return g.open || g.leaving }); err != nil {
			return nil, err
		}
		if err := g.take(ctx); err != nil {
			return nil, err
		}
		g.mu.Lock()
		e, open, leaving := g.era, g.open, g.leaving
		g.mu.Unlock()
		if open && !leaving {
			return e, nil
		}
		g.pass()
		if leaving {
			return nil, ErrLeft
		}
	}
}

// take waits for the turn.
func (g *Group) take(ctx context.Context) error {
	select {
	case g.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *Group) pass() { <-g.turn }
