package group

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/membership"
)

// era is a view that has begun, or is about to.
type era struct {
	view membership.View
	rank int
	comm *runtime.Comm // carries messages and what the members say to each other
	work *runtime.Comm // the program's, for collective operations

	ended []bool  // by rank: its end mark has come; run's
	left  []bool  // by rank: it has said in an end mark, of this view or one before, that it leaves; run's
	pasts []*past // by rank, in the Group's history

	// Guarded by the Group's lock.
	ready   []bool // by rank: it is at a safe point
	unready int    // how many are not
	counted bool   // in Stats
}

// errNewer: there is a newer view.
var errNewer = errors.New("there is a newer view")

// run goes from view to view.
func (g *Group) run() {
	defer close(g.over)
	defer g.cfg.Manager.Close() // to the others, a member that has ended is dead; Close tells its error
	last := new(era)            // none
	for {
		e, err := g.install()
		if last.comm != nil {
			g.discard(last)
		}
		if err != nil {
			g.fail(err)
			return
		}
		if c := changeTo(e, last); g.cfg.Changed != nil {
			g.cfg.Changed(c)
		}
		last = e
		if err := g.live(e); err != nil {
			g.discard(e)
			g.fail(err)
			return
		}
	}
}

// newest returns the newest view, or why there is none for this member.
func (g *Group) newest() (membership.View, error) {
	v, err := g.views.View(), g.views.Err()
	switch {
	case g.ctx.Err() != nil:
		return v, context.Cause(g.ctx)
	case !v.Has(g.self.ID), errors.Is(err, membership.ErrExpelled):
		return v, g.outside()
	}
	return v, err
}

// outside returns why this is a member no more.
func (g *Group) outside() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left {
		return ErrLeft
	}
	return membership.ErrExpelled
}

// install returns the era of the newest view, once its members have met.
func (g *Group) install() (*era, error) {
	var tried membership.View
	began := g.cfg.Clock.Now()
	for {
		v, err := g.newest()
		if err != nil {
			return nil, err
		}
		if v.Epoch > tried.Epoch {
			tried, began = v, g.cfg.Clock.Now()
		}
		e, err := g.meet(v)
		if err == nil {
			return e, nil
		}
		if fatal(err) {
			return nil, err
		}
		if g.cfg.Clock.Now().Sub(began) >= g.cfg.Patience {
			return nil, fmt.Errorf("%w: view %d, for %v: %w", ErrMeeting, v.Epoch, g.cfg.Patience, err)
		}
	}
}

// fatal reports whether another view would fail in the same way.
func fatal(err error) bool {
	return errors.Is(err, runtime.ErrMismatch) || errors.Is(err, runtime.ErrProtocol) || errors.Is(err, runtime.ErrInput) || errors.Is(err, errRecord)
}

// during returns a context that ends when there is a newer view than v, or none any more.
func (g *Group) during(v membership.View) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(g.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := g.views.Wait(ctx, v.Epoch)
		if err == nil {
			err = errNewer
		}
		cancel(err)
	}()
	return ctx, func() {
		cancel(context.Canceled)
		<-done
	}
}

// meet tries once to meet the members of v, and to have all of them know the same.
func (g *Group) meet(v membership.View) (*era, error) {
	ctx, stop := g.during(v)
	defer stop()
	ctx, end := clock.WithTimeoutCause(ctx, g.cfg.Clock, g.cfg.Patience, ErrMeeting)
	defer end()
	e, err := g.connect(ctx, v)
	if err != nil {
		clock.Sleep(ctx, g.cfg.Clock, meetingPause) // its end says nothing new
		return nil, err
	}
	if err = g.unite(ctx, e); err == nil {
		return e, nil
	}
	if ctx.Err() == nil {
		_ = g.blame(ctx, e, err) // if nothing comes of it these members meet again
	}
	g.discard(e)
	return nil, err
}

// meetingPause is how long to wait before a meeting that has failed is tried again.
const meetingPause = 20 * time.Millisecond

// connect makes the communicators of v.
func (g *Group) connect(ctx context.Context, v membership.View) (*era, error) {
	n := len(v.Members)
	e := &era{view: v, rank: v.Rank(g.self.ID), ended: make([]bool, n), left: make([]bool, n), ready: make([]bool, n), unready: n}
	m := Meeting{
		View: v, Rank: e.rank, Size: n, Coordinator: v.Members[0].Address,
		Job: fmt.Sprintf("%s/%d/%016x", g.cfg.Name, v.Epoch, v.Digest()),
	}
	if e.rank == 0 {
		m.Listener = g.door.turn()
		defer m.Listener.Close()
	}
	tr, err := g.cfg.Connect(ctx, m)
	if err != nil {
		return nil, err
	}
	cfg := g.cfg.Comm
	cfg.Transport, cfg.Epoch = tr, v.Epoch
	cfg.MaxMessage += overhead
	cfg.MaxMessage = max(cfg.MaxMessage, 2+countBytes*2*membership.MaxMembers)
	if e.comm, err = runtime.Join(ctx, cfg); err != nil {
		return nil, err
	}
	if e.work, err = e.comm.Dup(ctx); err != nil {
		g.wg.Go(func() { e.comm.Close() }) // the first error is the one to tell
		return nil, err
	}
	return e, nil
}

// live takes messages of e until there is a newer view, and then until all that was published in e is
// here.
func (g *Group) live(e *era) error {
	ctx, stop := g.during(e.view)
	err := g.pump(ctx, e)
	stop()
	if fatal(err) {
		return err
	}
	clean := err == nil
	if clean {
		clean, err = g.finish(e)
	} else {
		err = g.recall(e, err)
	}
	g.conclude(e, clean)
	return err
}

// recall stops publishing in an era whose communicator has failed, and returns when there is a
// newer view.
func (g *Group) recall(e *era, why error) error {
	g.shut()
	if err := g.idle(); err != nil {
		return err
	}
	ctx, done := g.during(e.view)
	defer done()
	for g.blame(ctx, e, why) != nil {
		if clock.Sleep(ctx, g.cfg.Clock, blamePause) != nil {
			break
		}
	}
	<-ctx.Done()
	_, err := g.newest()
	return err
}

// blamePause is how long to wait before a manager that could not do what was reported to it is told again.
const blamePause = 100 * time.Millisecond

// shut has nobody begin to publish.
func (g *Group) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = false
}

// idle returns when nobody publishes any more.
func (g *Group) idle() error {
	if err := g.take(g.ctx); err != nil {
		return err
	}
	g.pass()
	return nil
}

// conclude closes the program's communicator of e if no member uses it: those that stay have heard of
// the same members that they are ready, if e has ended cleanly. Otherwise some may use it and some not, so
// that it must fail.
func (g *Group) conclude(e *era, clean bool) {
	g.mu.Lock()
	used := e.unready == 0
	g.mu.Unlock()
	if !used || !clean && e.work.Err() == nil {
		g.retire(e)
	}
}

// blame reports to the manager whom e has lost; who has left in good order may only have
// heard of a newer view before.
func (g *Group) blame(ctx context.Context, e *era, why error) error {
	var lost []membership.ID
	var of *runtime.RankError
	if errors.Is(why, runtime.ErrPeerLost) && errors.As(why, &of) && of.Rank != e.rank && of.Rank >= 0 && of.Rank < len(e.view.Members) {
		lost = append(lost, e.view.Members[of.Rank].ID)
	}
	return g.cfg.Manager.Report(ctx, e.view.Epoch, lost...)
}

// discard closes what messages of e went by. To wait for peers that are dead takes a
// while, and holds nobody up.
func (g *Group) discard(e *era) {
	g.mu.Lock()
	if !e.counted {
		e.counted = true
		g.stats.add(e.comm.Totals())
	}
	unused := e.unready > 0
	g.mu.Unlock()
	if unused {
		g.retire(e)
	}
	g.wg.Go(func() { e.comm.Close() })
}

// retire closes the program's communicator of e.
func (g *Group) retire(e *era) { g.wg.Go(func() { e.work.Close() }) }
