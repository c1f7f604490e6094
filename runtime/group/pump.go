package group

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/runtime/membership"
)

// errRecord: a member has sent a record that no correct member sends.
var errRecord = errors.New("protocol violation of a group")

// pump takes messages until ctx ends, which is no error, or e's communicator fails.
func (g *Group) pump(ctx context.Context, e *era) error {
	if len(e.view.Members) == 1 {
		<-ctx.Done()
		return nil
	}
	for {
		if g.room(ctx, e, 1) != nil {
			return nil
		}
		if err := g.step(ctx, e); err != nil {
			if ctx.Err() != nil && !fatal(err) {
				return nil
			}
			return err
		}
	}
}

// room waits until the program has taken its messages, except for some windows of all members.
func (g *Group) room(ctx context.Context, e *era, windows int) error {
	n := windows * len(e.view.Members)
	return g.queue.room(ctx, n*g.cfg.Comm.PublishWindow, n*(g.cfg.Comm.PublishBytes+g.cfg.Comm.MaxMessage))
}

// step takes one message.
func (g *Group) step(ctx context.Context, e *era) error {
	kind, from, body, err := e.next(ctx)
	if err != nil {
		return err
	}
	switch kind {
	case recordData:
		return g.receive(e, from, body)
	case recordEnd:
		e.ended[from] = true
		e.left[from] = e.left[from] || readEnd(body)
		return nil
	case recordReady:
		g.setReady(e, from)
		return nil
	}
	return fmt.Errorf("%w: rank %d sends a record of kind %d in the middle of a view", errRecord, from, kind)
}

// next waits for a record.
func (e *era) next(ctx context.Context) (kind recordKind, from int, body []byte, err error) {
	msg, err := e.comm.Next(ctx)
	if err != nil {
		return 0, 0, nil, err
	}
	if len(msg.Data) == 0 {
		return 0, 0, nil, fmt.Errorf("%w: rank %d sends an empty record", errRecord, msg.Origin)
	}
	return recordKind(msg.Data[0]), msg.Origin, msg.Data[1:], nil
}

// receive takes a message of the view.
func (g *Group) receive(e *era, rank int, body []byte) error {
	seq, data, err := readData(body)
	if err != nil {
		return fmt.Errorf("%w: rank %d: %w", errRecord, rank, err)
	}
	p := e.pasts[rank]
	if seq != p.next {
		return fmt.Errorf("%w: rank %d sends message %d in place of %d", errRecord, rank, seq, p.next)
	}
	g.history.add(p, e.view.Epoch, data)
	g.queue.push(Message{Origin: e.view.Members[rank].ID, Epoch: e.view.Epoch, Seq: seq, Data: data})
	return nil
}

// errGrace: the wait for gone members is over.
var errGrace = errors.New("the wait for members that have gone is over")

// finish ends e after a newer view has come. It returns when the others' last messages have arrived
// and this member's messages have left, or when they cannot. clean says that the messages of all
// members have arrived.
func (g *Group) finish(e *era) (clean bool, err error) {
	g.shut()
	grace, over := context.WithCancel(context.Background())
	defer over()
	defer g.cfg.Clock.AfterFunc(g.cfg.Grace, over).Stop()
	ctx, cancel := context.WithCancelCause(g.ctx)
	left := make(chan error, 1)
	go func() { left <- g.mark(ctx, e) }()
	clean, err = g.drain(e, grace)
	if clean {
		clean = g.dispatched(e, left, grace)
	}
	cancel(errGrace)
	if clean {
		return true, err
	}
	g.discard(e) // ends publishing that waits for dead members
	<-left
	if err == nil {
		err = g.idle()
	}
	return false, err
}

// mark publishes the end mark, after everything else.
func (g *Group) mark(ctx context.Context, e *era) error {
	if err := g.take(ctx); err != nil {
		return err
	}
	defer g.pass()
	g.mu.Lock()
	leaves := g.leaving
	g.mu.Unlock()
	return e.comm.Publish(ctx, appendEnd(nil, leaves))
}

// dispatched waits until the end mark has left. The end mark may have to wait until the others take
// the messages before it. If it returns false, the result is in left.
func (g *Group) dispatched(e *era, left chan error, grace context.Context) bool {
	for over := grace.Done(); ; {
		changed := g.views.Changed() // before looking at the views
		if g.hopeless(e, grace) {
			return false
		}
		select {
		case err := <-left:
			left <- err
			return err == nil
		case <-changed:
		case <-over:
			over = nil
		}
	}
}

// hopeless reports whether members of e that have gone without an end mark have used up their
// grace, or this member has ended.
func (g *Group) hopeless(e *era, grace context.Context) bool {
	v := g.views.View()
	gone := func(m membership.Member) bool { return !v.Has(m.ID) && m.ID != g.self.ID }
	return g.ctx.Err() != nil || grace.Err() != nil && slices.ContainsFunc(e.view.Members, gone)
}

// drain takes messages until the end marks of all have arrived.
func (g *Group) drain(e *era, grace context.Context) (clean bool, err error) {
	for !e.complete() {
		if g.hopeless(e, grace) {
			return false, g.gone()
		}
		v := g.views.View()
		if err := g.drainSome(e, v, grace); err != nil {
			if fatal(err) {
				return false, err
			}
			return false, g.gone()
		}
	}
	return true, g.gone()
}

// drainSome takes messages as long as v is the newest view and grace is not over. It returns an
// error if the communicator fails, or there will be no further view.
func (g *Group) drainSome(e *era, v membership.View, grace context.Context) error {
	ctx, stop := g.during(v)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if grace.Err() == nil {
		defer context.AfterFunc(grace, cancel)()
	}
	for !e.complete() {
		err := g.room(ctx, e, 3)
		if err == nil {
			err = g.step(ctx, e)
		}
		if err != nil {
			if ctx.Err() != nil && !fatal(err) {
				return g.views.Err()
			}
			return err
		}
	}
	return nil
}

// gone returns why this process is no longer a member, or nil.
func (g *Group) gone() error {
	_, err := g.newest()
	return err
}

// complete reports whether the end marks of all others have arrived.
func (e *era) complete() bool {
	for rank, ended := range e.ended {
		if rank != e.rank && !ended {
			return false
		}
	}
	return true
}
