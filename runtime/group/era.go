package group

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/membership"
)

// era is a view that has begun, or is about to begin.
type era struct {
	view membership.View
	rank int
	comm *runtime.Comm // carries messages and the members' announcements
	work *runtime.Comm // the program's communicator for collective operations

	ended []bool  // by rank: its end mark has arrived; only run uses it
	left  []bool  // by rank: its end mark, of this view or an earlier one, says that it leaves; only run uses it
	pasts []*past // by rank, in the Group's history

	// Guarded by the Group's lock.
	ready   []bool // by rank: it is at a safe point
	unready int    // number of ranks that are not ready
	counted bool   // Stats includes it
}

// errNewer: there is a newer view.
var errNewer = errors.New("there is a newer view")

// followViews goes from view to view.
func (g *Group) followViews() {
	defer close(g.over)
	defer g.cfg.Manager.Close() // the others take a member that has ended for dead; Close tells its error
	last := new(era)            // no view
	for {
		e, err := g.install(last)
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

// outside returns why this process is no longer a member.
func (g *Group) outside() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left {
		return ErrLeft
	}
	return membership.ErrExpelled
}

// install returns the era of the newest view after its members have met. last is the era before.
func (g *Group) install(last *era) (*era, error) {
	var tried membership.View
	began := g.cfg.Clock.Now()
	for {
		v, err := g.newest()
		if err != nil {
			return nil, err
		}
		if v.Epoch > tried.Epoch {
			tried, began = v, g.cfg.Clock.Now()
			if err := g.checkQuorum(last, v); err != nil {
				return nil, err
			}
		}
		e, err := g.meet(v)
		if err == nil {
			return e, nil
		}
		if fatal(err) {
			return nil, err
		}
		if g.cfg.Clock.Now().Sub(began) >= g.cfg.Patience {
			return nil, fmt.Errorf("%w: view %d, after %v: %w", ErrMeeting, v.Epoch, g.cfg.Patience, err)
		}
	}
}

// checkQuorum returns an error if Config.Comm.Quorum forbids v to follow the view of last.
func (g *Group) checkQuorum(last *era, v membership.View) error {
	if g.cfg.Comm.Quorum == nil || last.comm == nil {
		return nil
	}
	var stay []int
	ranks := ranksOf(v)
	for rank, m := range last.view.Members {
		if _, stays := ranks[m.ID]; stays || last.left[rank] {
			stay = append(stay, rank)
		}
	}
	if of := len(last.view.Members); !g.cfg.Comm.Quorum(stay, of) {
		return fmt.Errorf("%w: view %d has %d of the %d members of view %d, which were ranks %v there", runtime.ErrQuorum, v.Epoch, len(stay), of, last.view.Epoch, stay)
	}
	return nil
}

// fatal reports whether another view would fail in the same way.
func fatal(err error) bool {
	return errors.Is(err, runtime.ErrMismatch) || errors.Is(err, runtime.ErrProtocol) || errors.Is(err, runtime.ErrInput) || errors.Is(err, errRecord)
}

// during returns a context that ends when there is a newer view than v, or no further view.
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

// meet tries once to meet the members of v, and to bring all of them to the same messages.
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
		_ = g.blame(ctx, e, err) // if this has no effect, the members meet again
	}
	g.discard(e)
	return nil, err
}

// meetingPause is the time between a failed meeting and the next attempt.
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
		g.wg.Go(func() { e.comm.Close() }) // the caller gets the first error
		return nil, err
	}
	return e, nil
}

// live takes messages of e until there is a newer view, and then until everything published in e
// has arrived.
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

// blamePause is the time before a failed report to the manager is repeated.
const blamePause = 100 * time.Millisecond

// shut stops new publishing.
func (g *Group) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = false
}

// idle returns when no goroutine publishes any more.
func (g *Group) idle() error {
	if err := g.take(g.ctx); err != nil {
		return err
	}
	g.pass()
	return nil
}

// conclude closes the program's communicator of e if no member uses it. If e has ended cleanly, the
// members that stay have received the same announcements of readiness. Otherwise it may be that
// only some members use the communicator, so it must fail.
func (g *Group) conclude(e *era, clean bool) {
	g.mu.Lock()
	used := e.unready == 0
	g.mu.Unlock()
	if !used || !clean && e.work.Err() == nil {
		g.retire(e)
	}
}

// blame reports to the manager which members e has lost. It does not report members that have left
// in good order: they may only have heard earlier of a newer view.
func (g *Group) blame(ctx context.Context, e *era, why error) error {
	var lost []membership.ID
	var of *runtime.RankError
	if errors.Is(why, runtime.ErrPeerLost) && errors.As(why, &of) && of.Rank != e.rank && of.Rank >= 0 && of.Rank < len(e.view.Members) {
		lost = append(lost, e.view.Members[of.Rank].ID)
	}
	return g.cfg.Manager.Report(ctx, e.view.Epoch, lost...)
}

// discard closes the communicator of e's messages. It takes a while to wait for dead peers, so
// discard does it in the background.
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
