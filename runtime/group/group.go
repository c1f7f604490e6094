package group

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"sync"

	"github.com/schedgen/schedgen/internal/board"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/membership"
)

// The conditions that errors of a Group wrap, besides conditions of packages runtime and
// membership.
var (
	// ErrLeft: this member has called Leave.
	ErrLeft = errors.New("this member has left the group")
	// ErrClosed: this member has called Close.
	ErrClosed = errors.New("group is closed")
	// ErrMeeting: the members of a view have not met within Config.Patience.
	ErrMeeting = errors.New("the members of a view do not meet")
)

// Group is one member's part in a group. Publish, Next and Advance may be called at the same time.
type Group struct {
	cfg   Config
	self  membership.Member
	door  *door
	queue *queue
	views board.Board // the manager's views

	ctx  context.Context // ends with the membership; its cause says why
	end  context.CancelCauseFunc
	wg   sync.WaitGroup
	over chan struct{} // closed when run has ended

	history *history // run's, except for the part that publisher uses
	publisher

	advance sync.Mutex // held inside Advance
	working *era       // the era whose communicator the program has; guarded by advance

	mu      sync.Mutex // guards the fields below
	era     *era       // the newest era that has begun
	open    bool       // messages may be published in era
	leaving bool       // Leave has been called: this member publishes nothing more
	left    bool       // the others have everything that this member has published
	changed chan struct{}
	stats   Stats
}

// Stats counts what a member has seen of its group.
type Stats struct {
	Views     uint64 // views that this member has been in
	Recovered uint64 // messages that came from a member other than their origin, after a death
	Stale     uint64 // frames dropped: of past operations, or invalid
	Foreign   uint64 // datagrams dropped: of other views, or not frames
	Rejected  uint64 // connections turned away: of other views, or of strangers
}

// Join makes this process a member. It returns when all members of a view that contains it have
// met. If Join fails, it closes the Manager.
func Join(ctx context.Context, cfg Config) (*Group, error) {
	g, err := join(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("join group %q: %w", cfg.Name, err)
	}
	return g, nil
}

func join(ctx context.Context, cfg Config) (*Group, error) {
	err := cfg.fill()
	if err == nil && ctx == nil {
		err = errNoContext
	}
	if err != nil {
		if cfg.Manager != nil {
			cfg.Manager.Close() // the caller gets the first error
		}
		return nil, err
	}
	door, err := openDoor(cfg.Address)
	if err != nil {
		cfg.Manager.Close()
		return nil, err
	}
	if cfg.Advertise == "" {
		cfg.Advertise = door.l.Addr().String()
	}
	g := &Group{
		cfg: cfg, door: door, queue: newQueue(), over: make(chan struct{}), publisher: publisher{turn: make(chan struct{}, 1)}, changed: make(chan struct{}),
		self:    membership.Member{ID: membership.NewID(), Name: cfg.Label, Address: cfg.Advertise},
		history: newHistory(cfg.Comm.PublishWindow, cfg.Comm.PublishBytes),
	}
	g.own = g.history.pastOf(g.self.ID)
	g.ctx, g.end = context.WithCancelCause(context.Background())
	if err := g.enter(ctx); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// enter returns when the first view with this member has begun.
func (g *Group) enter(ctx context.Context) error {
	host, _, err := net.SplitHostPort(g.cfg.Advertise)
	if ip := net.ParseIP(host); err != nil || host == "" || ip != nil && ip.IsUnspecified() {
		close(g.over)
		return fmt.Errorf("others cannot use the address %q: set another one in Config.Address or Config.Advertise", g.cfg.Advertise)
	}
	first, err := g.cfg.Manager.Join(ctx, g.self)
	if err != nil {
		close(g.over)
		return err
	}
	g.views.Post(first)
	g.wg.Go(g.watch)
	g.wg.Go(g.followViews)
	_, err = g.await(ctx, func() bool { return g.open })
	return err
}

// watch takes views from the manager.
func (g *Group) watch() {
	for epoch := g.views.View().Epoch; ; {
		v, err := g.cfg.Manager.Watch(g.ctx, epoch)
		if err != nil {
			g.views.Fail(err)
			return
		}
		g.views.Post(v)
		epoch = v.Epoch
	}
}

// errNoContext is the error of a call with a nil context, which does nothing.
var errNoContext = fmt.Errorf("%w: the context is nil", runtime.ErrInput)

// await returns the newest era when met holds. It calls met with the lock held.
func (g *Group) await(ctx context.Context, met func() bool) (*era, error) {
	for {
		g.mu.Lock()
		ok, e, changed := met(), g.era, g.changed
		g.mu.Unlock()
		if ok {
			return e, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-g.ctx.Done():
			return nil, context.Cause(g.ctx)
		}
	}
}

// wakeWaiters wakes all calls of await. The caller holds the lock.
func (g *Group) wakeWaiters() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// Self returns this member.
func (g *Group) Self() membership.Member { return g.self }

// View returns the newest view that has begun.
func (g *Group) View() membership.View {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.era == nil {
		return membership.View{}
	}
	return g.era.view
}

// Await returns the newest view that has begun, when its epoch is greater than after.
func (g *Group) Await(ctx context.Context, after uint32) (membership.View, error) {
	if ctx == nil {
		return membership.View{}, errNoContext
	}
	e, err := g.await(ctx, func() bool { return g.era != nil && g.era.view.Epoch > after })
	if err != nil {
		return membership.View{}, err
	}
	return e.view, nil
}

// Err returns why the membership has ended, or nil.
func (g *Group) Err() error { return context.Cause(g.ctx) }

// Next waits for a message of another member. It returns messages that have arrived even after the
// membership has ended.
func (g *Group) Next(ctx context.Context) (Message, error) {
	if ctx == nil {
		return Message{}, errNoContext
	}
	return g.queue.next(ctx)
}

// Messages returns the messages as they arrive, in a loop such as
//
//	for msg, err := range g.Messages(ctx) { … }
//
// until ctx or the membership ends: the last iteration has this error and no message.
func (g *Group) Messages(ctx context.Context) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		for {
			msg, err := g.Next(ctx)
			if !yield(msg, err) || err != nil {
				return
			}
		}
	}
}

// Stats returns the counters.
func (g *Group) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.stats
	if g.era != nil && !g.era.counted {
		s.add(g.era.comm.Totals())
	}
	return s
}

func (s *Stats) add(t runtime.Totals) {
	s.Stale += t.Stale
	s.Foreign += t.Transport.Foreign
	s.Rejected += t.Transport.Rejected
}

// States returns the states of this member's communicators, as [runtime.Comm.States] does. It
// returns nil while the members of a view have not met.
func (g *Group) States() []runtime.State {
	g.mu.Lock()
	e := g.era
	g.mu.Unlock()
	if e == nil {
		return nil
	}
	return e.comm.States()
}

// Close frees all resources, including the communicator of Advance. To the others, a member that
// has not left is dead.
func (g *Group) Close() error {
	g.fail(ErrClosed)
	<-g.over
	g.advance.Lock()
	defer g.advance.Unlock()
	if g.working != nil {
		g.retire(g.working)
	}
	g.wg.Wait()
	g.door.close()
	if err := g.cfg.Manager.Close(); err != nil {
		return fmt.Errorf("close group %q: %w", g.cfg.Name, err)
	}
	return nil
}

// fail ends the membership. Only the first reason counts.
func (g *Group) fail(err error) {
	g.end(err)
	g.queue.fail(context.Cause(g.ctx))
}
