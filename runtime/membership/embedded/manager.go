package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/board"
	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/notice"
	"github.com/schedgen/schedgen/runtime/membership"
)

// Manager is one member's part in the group. It asks the manager, and is the manager while it is
// the first member.
type Manager struct {
	cfg   Config
	board board.Board   // the newest view
	turn  chan struct{} // held by the goroutine that decides a view

	ctx   context.Context // ends with Close
	close context.CancelFunc
	wg    sync.WaitGroup

	mu       sync.Mutex        // guards the fields below
	self     membership.Member // set by Join
	acceptor acceptor
	contact  time.Time                   // when the manager, or as manager enough members, were last heard
	heard    map[membership.ID]time.Time // as manager: last signs of life of members
	guests   int                         // connections that are being served
}

// New listens at cfg.Listen. A Manager is for one member.
func New(cfg Config) (*Manager, error) {
	if err := cfg.fill(); err != nil {
		return nil, fmt.Errorf("embedded manager: %w", err)
	}
	ctx, end := context.WithCancel(context.Background())
	m := &Manager{cfg: cfg, turn: make(chan struct{}, 1), ctx: ctx, close: end, heard: map[membership.ID]time.Time{}}
	m.wg.Go(m.accept)
	return m, nil
}

// Addr returns the address that others get, for their Seeds.
func (m *Manager) Addr() string { return m.cfg.Advertise }

// Join implements [membership.Manager]. It looks for the group until ctx ends.
func (m *Manager) Join(ctx context.Context, self membership.Member) (membership.View, error) {
	self.Manager = m.cfg.Advertise
	if err := self.Check(); err != nil {
		return membership.View{}, fmt.Errorf("join: %w", err)
	}
	if !m.become(self) {
		return membership.View{}, errors.New("join: this manager has a member already")
	}
	if err := m.enter(ctx); err != nil {
		return membership.View{}, fmt.Errorf("look for the group: %w", err)
	}
	m.touch()
	m.wg.Go(m.follow)
	return m.board.View(), nil
}

// become makes self the member of this process, unless it has one.
func (m *Manager) become(self membership.Member) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.self.ID != (membership.ID{}) {
		return false
	}
	m.self = self
	return true
}

// me returns this process's member.
func (m *Manager) me() membership.Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.self
}

// enter returns when there is a view with this member.
func (m *Manager) enter(ctx context.Context) error {
	ctx, stop := m.until(ctx)
	defer stop()
	trouble, told := m.waits(fmt.Sprintf("waiting to be taken in by the group at %s", strings.Join(m.cfg.Seeds, ", ")))
	defer told()
	var last error
	for {
		found, err := m.seek(ctx)
		switch {
		case m.board.View().Has(m.me().ID):
			return nil
		case errors.Is(err, membership.ErrFull):
			return err
		case err != nil:
			if last == nil || ctx.Err() == nil && !timedOut(err) {
				last = err // later errors may only say that ctx has ended, before it has
				trouble.Set(err.Error())
			}
		case !found && m.founds():
			m.learn(membership.View{Epoch: 1, Members: []membership.Member{m.me()}})
			return nil
		}
		if err := m.pause(ctx); err != nil {
			return because(err, last)
		}
	}
}

func timedOut(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// founds reports whether this member may found the group.
func (m *Manager) founds() bool {
	return len(m.cfg.Seeds) == 0 || m.cfg.Seeds[0] == m.cfg.Advertise
}

// seek asks the seeds, and members that they name, to let this process in. It reports whether any
// of them knows of the group, or may know but has not answered.
func (m *Manager) seek(ctx context.Context) (found bool, err error) {
	self := m.me()
	for _, seed := range m.cfg.Seeds {
		if seed == m.cfg.Advertise {
			continue
		}
		q := &request{Kind: kindJoin, Member: &self}
		r, askErr := m.ask(ctx, &membership.Member{Manager: seed}, q)
		switch {
		case askErr == nil && r.View.Epoch > 0:
			return true, m.petition(ctx, r, q)
		case askErr == nil && r.Err != "":
			found, err = true, said(r.Err)
		case askErr != nil && !refused(askErr):
			found, err = true, askErr
		case askErr != nil && err == nil && !m.founds():
			err = askErr
		}
	}
	return found, err
}

// petition follows r, the answer to q, to the manager.
func (m *Manager) petition(ctx context.Context, r *response, q *request) error {
	for range 3 {
		if r.Err != "" {
			return said(r.Err)
		}
		if !r.Elsewhere {
			return nil
		}
		if len(r.View.Members) == 0 {
			return errors.New("the group has no members")
		}
		var err error
		if r, err = m.ask(ctx, &r.View.Members[0], q); err != nil {
			return err
		}
	}
	return errors.New("the manager changes")
}

// said returns another member's words as an error of this member.
func said(why string) error {
	if why == membership.ErrFull.Error() {
		return membership.ErrFull
	}
	return fmt.Errorf("the manager says: %s", why)
}

// Watch implements [membership.Manager].
func (m *Manager) Watch(ctx context.Context, after uint32) (membership.View, error) {
	return m.board.Wait(ctx, after)
}

// Report implements [membership.Manager].
func (m *Manager) Report(ctx context.Context, epoch uint32, lost ...membership.ID) error {
	done := func(v membership.View) bool {
		return v.Epoch > epoch && !slices.ContainsFunc(lost, v.Has) || !v.Has(m.me().ID)
	}
	if err := m.urge(ctx, &request{Kind: kindReport, Epoch: epoch, Lost: lost}, membership.Reported(m.me().ID, epoch, lost), done); err != nil {
		return fmt.Errorf("report lost members: %w", err)
	}
	return nil
}

// Leave implements [membership.Manager].
func (m *Manager) Leave(ctx context.Context) error {
	done := func(v membership.View) bool { return !v.Has(m.me().ID) }
	if err := m.urge(ctx, &request{Kind: kindLeave}, membership.Without(m.me().ID), done); err != nil {
		return fmt.Errorf("leave group %q: %w", m.cfg.Group, err)
	}
	return nil
}

// urge makes the manager, whichever it is meanwhile, make a change, until a view shows it. If the
// manager cannot make the change, urge asks again, since it may be cut off for a while.
func (m *Manager) urge(ctx context.Context, q *request, change membership.Change, done func(membership.View) bool) error {
	ctx, stop := m.until(ctx)
	defer stop()
	trouble, told := m.waits("waiting for the manager")
	defer told()
	for {
		v := m.board.View()
		if done(v) {
			return nil
		}
		if err := m.board.Err(); err != nil {
			return err
		}
		last := m.urgeOnce(ctx, v, q, change)
		if done(m.board.View()) {
			return nil
		}
		if last != nil {
			trouble.Set(last.Error())
		}
		if err := m.pause(ctx); err != nil {
			return because(err, last)
		}
	}
}

// waits logs that this member waits for what, and why the wait has not ended.
func (m *Manager) waits(what string) (*notice.Trouble, func()) {
	trouble := new(notice.Trouble)
	trouble.Set("no answer yet")
	return trouble, notice.Wait(m.cfg.Clock, m.cfg.Log, func() string { return fmt.Sprintf("%s: %v", what, trouble) })
}

// urgeOnce asks the manager of v.
func (m *Manager) urgeOnce(ctx context.Context, v membership.View, q *request, change membership.Change) error {
	if m.manages(v) {
		return m.change(ctx, change)
	}
	r, err := m.ask(ctx, &v.Members[0], q)
	if err == nil && r.Err != "" {
		err = said(r.Err)
	}
	return err
}

// because returns end, the reason why something ended, with the last error before it.
func because(end, last error) error {
	if last == nil {
		return end
	}
	return fmt.Errorf("%w (%w)", end, last)
}

// Close implements [membership.Manager].
func (m *Manager) Close() error {
	m.board.Fail(membership.ErrClosed)
	m.silence()
	m.wg.Wait()
	return nil
}

// silence stops everything that this member sends and receives. It closes the listener first, so
// that a member whose connection breaks, and that asks again, is refused.
func (m *Manager) silence() {
	m.cfg.Listener.Close() // it may be closed already
	m.close()
}

// until returns a context that ends with ctx, or with ErrClosed when m is closed.
func (m *Manager) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(m.ctx, func() { cancel(cmp.Or(m.board.Err(), membership.ErrClosed)) })
	return ctx, func() { stop(); cancel(context.Canceled) }
}

// pause waits before a retry.
func (m *Manager) pause(ctx context.Context) error {
	return clock.Sleep(ctx, m.cfg.Clock, m.cfg.TTL/16)
}

// manages reports whether this member is the manager in v.
func (m *Manager) manages(v membership.View) bool {
	return len(v.Members) > 0 && v.Members[0].ID == m.me().ID
}

// learn takes a decided view.
func (m *Manager) learn(v membership.View) {
	m.mu.Lock()
	m.acceptor.learn(v)
	m.mu.Unlock()
	m.board.Post(v)
}

// ask asks a member, for at most TTL.
func (m *Manager) ask(ctx context.Context, member *membership.Member, q *request) (*response, error) {
	ctx, stop := clock.WithTimeoutCause(ctx, m.cfg.Clock, m.cfg.TTL, errSilent)
	defer stop()
	return m.askMember(ctx, member, q)
}

var errSilent = errors.New("no answer in time")

// askMember sends q to a member and takes the view in the answer. If member has no identity, any
// process at its address may answer. If the connection breaks, askMember asks again: requests may
// safely be repeated.
func (m *Manager) askMember(ctx context.Context, member *membership.Member, q *request) (*response, error) {
	q.Version, q.Group, q.From, q.To = version, m.cfg.Group, m.me().ID, member.ID
	r, err := m.cfg.dial.ask(ctx, member.Manager, q)
	if err != nil && !refused(err) && ctx.Err() == nil { // it may have died after it accepted the connection: then nothing listens there now
		r, err = m.cfg.dial.ask(ctx, member.Manager, q)
	}
	if err == nil && r.View.Epoch > 0 {
		m.learn(r.View)
	}
	return r, err
}

// touch records that enough of the group has been heard now.
func (m *Manager) touch() {
	now := m.cfg.Clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.contact = now
}

// impatient reports whether enough of the group was last heard too long ago.
func (m *Manager) impatient() bool {
	now := m.cfg.Clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	return now.Sub(m.contact) > m.cfg.Patience
}
