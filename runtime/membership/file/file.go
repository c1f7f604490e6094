package file

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/board"
	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/notice"
	"github.com/schedgen/schedgen/runtime/membership"
)

// Config says where the group's files are.
type Config struct {
	// Dir is the group's directory. Join makes it if its parent exists. No other group may use it.
	// It may be removed when the group has no members.
	Dir string
	// TTL is how long a member may be silent, the same at all members; default 10 s. Files are read
	// and written eight times in that time.
	TTL time.Duration
	// Clock is the source of time; nil means the system's clock.
	Clock clock.Clock
	// Log, if not nil, gets a warning that says what this member waits for, to join or to have a
	// change made: after two seconds and then at growing intervals.
	Log *slog.Logger
}

// Manager is one member's access to the files.
type Manager struct {
	cfg   Config
	board board.Board

	ctx      context.Context // ends with Close, or when the files are lost
	close    context.CancelCauseFunc
	lease    clock.Timer   // ends the membership
	followed chan struct{} // closed when follow has ended; nil before Join has returned

	mu   sync.Mutex
	self membership.ID // set by Join

	// Used by Join, and then by follow.
	pulses map[membership.ID]pulse
	beat   uint64
}

// pulse is the state of another member's number.
type pulse struct {
	number string
	since  time.Time // when the number was first seen
	looks  int       // how often it was seen
}

// looks is how often the files are read in TTL.
const looks = 8

// New returns a manager for one member. It does not touch files before Join.
func New(cfg Config) (*Manager, error) {
	if cfg.Dir == "" || cfg.TTL < 0 {
		return nil, fmt.Errorf("file manager: Config.Dir is %q and Config.TTL is %v: the first is needed, the second must not be negative", cfg.Dir, cfg.TTL)
	}
	if cfg.TTL == 0 {
		cfg.TTL = 10 * time.Second
	}
	cfg.Clock = clock.OrSystem(cfg.Clock)
	ctx, end := context.WithCancelCause(context.Background())
	return &Manager{cfg: cfg, ctx: ctx, close: end, pulses: map[membership.ID]pulse{}}, nil
}

// Join implements [membership.Manager].
func (m *Manager) Join(ctx context.Context, self membership.Member) (membership.View, error) {
	err := m.begin(self)
	if err == nil {
		err = m.urge(ctx, func(ctx context.Context) error {
			if err := m.appear(); err != nil {
				return err
			}
			return m.change(ctx, membership.Joined(self))
		})
	}
	if err != nil {
		return membership.View{}, fmt.Errorf("join the group in %s: %w", m.cfg.Dir, err)
	}
	m.lease, m.followed = m.cfg.Clock.AfterFunc(m.cfg.TTL, m.lost), make(chan struct{})
	go m.follow()
	return m.board.View(), nil
}

// begin records the member of this process.
func (m *Manager) begin(self membership.Member) error {
	if err := self.Check(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.self != (membership.ID{}) {
		return errors.New("this manager has a member already")
	}
	m.self = self.ID
	return nil
}

// appear writes the first sign of life.
func (m *Manager) appear() error {
	if err := os.Mkdir(m.cfg.Dir, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return m.live()
}

// me returns the identity of this member.
func (m *Manager) me() membership.ID {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.self
}

// Watch implements [membership.Manager].
func (m *Manager) Watch(ctx context.Context, after uint32) (membership.View, error) {
	return m.board.Wait(ctx, after)
}

// Report implements [membership.Manager].
func (m *Manager) Report(ctx context.Context, epoch uint32, lost ...membership.ID) error {
	if err := m.urgeChange(ctx, membership.Reported(m.me(), epoch, lost)); err != nil {
		return fmt.Errorf("report lost members: %w", err)
	}
	return nil
}

// Leave implements [membership.Manager].
func (m *Manager) Leave(ctx context.Context) error {
	if err := m.urgeChange(ctx, membership.Without(m.me())); err != nil {
		return fmt.Errorf("leave the group in %s: %w", m.cfg.Dir, err)
	}
	os.Remove(m.pulseFile(m.me())) // only members have files, whether others have read them or not
	return nil
}

// Close implements [membership.Manager].
func (m *Manager) Close() error {
	m.close(membership.ErrClosed)
	m.board.Fail(membership.ErrClosed)
	if m.followed == nil {
		return nil
	}
	late := make(chan struct{})
	defer m.cfg.Clock.AfterFunc(m.cfg.TTL, func() { close(late) }).Stop()
	select {
	case <-m.followed:
		return nil
	case <-late:
		return fmt.Errorf("close the file manager: the files in %s have not answered for %v", m.cfg.Dir, m.cfg.TTL)
	}
}

// lost ends the membership: this member has given no sign of life for TTL.
func (m *Manager) lost() {
	err := fmt.Errorf("%w: the files in %s cannot be written for %v", membership.ErrLost, m.cfg.Dir, m.cfg.TTL)
	m.close(err) // close first: a member that hears of the loss must not find its manager alive
	m.board.Fail(err)
}

// follow writes signs of life and reads the signs of others, until this process is no longer a
// member. It retries failures, until lost.
func (m *Manager) follow() {
	defer close(m.followed)
	defer m.lease.Stop()
	for clock.Sleep(m.ctx, m.cfg.Clock, m.cfg.TTL/looks) == nil {
		begun := m.cfg.Clock.Now()
		if m.live() == nil && m.ctx.Err() == nil {
			m.lease.Reset(m.cfg.TTL - m.cfg.Clock.Now().Sub(begun))
		}
		v, err := m.newest()
		if err != nil {
			continue
		}
		m.board.Post(v)
		if !v.Has(m.me()) {
			m.board.Fail(membership.ErrExpelled)
			os.Remove(m.pulseFile(m.me()))
			return
		}
		if silent := m.silent(v); len(silent) > 0 {
			m.apply(v, membership.Without(silent...)) // another member may be faster; if not, follow tries again
		}
	}
}

// silent returns the watched members whose numbers have not changed for TTL, while this process has
// looked all the time. A process that was stopped has not looked.
func (m *Manager) silent(v membership.View) (ids []membership.ID) {
	watched := v.Members[:1]
	if v.Members[0].ID == m.me() {
		watched = v.Members[1:]
	}
	now := m.cfg.Clock.Now()
	seen := make(map[membership.ID]pulse, len(watched))
	for _, other := range watched {
		text, err := os.ReadFile(m.pulseFile(other.ID))
		p, known := m.pulses[other.ID]
		if !known || err == nil && string(text) != p.number {
			p = pulse{number: string(text), since: now}
		}
		p.looks++
		seen[other.ID] = p
		if p.looks > looks && now.Sub(p.since) > m.cfg.TTL {
			ids = append(ids, other.ID)
		}
	}
	m.pulses = seen
	return ids
}

// urgeChange repeats a change until a view shows it, or ctx ends.
func (m *Manager) urgeChange(ctx context.Context, change membership.Change) error {
	return m.urge(ctx, func(ctx context.Context) error { return m.change(ctx, change) })
}

// urge calls do, until ctx ends.
func (m *Manager) urge(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(context.Canceled)
	defer context.AfterFunc(m.ctx, func() { cancel(context.Cause(m.ctx)) })()
	defer notice.Wait(m.cfg.Clock, m.cfg.Log, func() string {
		return fmt.Sprintf("waiting for the files in %s: the disk has not answered", m.cfg.Dir)
	})()
	done := make(chan error, 1)
	go func() { done <- do(ctx) }() // a disk may hang for ever, and then leaves one goroutine
	select {
	case err := <-done:
		if err != nil && m.ctx.Err() != nil {
			return context.Cause(m.ctx)
		}
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// change repeats apply as long as other members are faster.
func (m *Manager) change(ctx context.Context, change membership.Change) error {
	for ctx.Err() == nil {
		v, err := m.newest()
		if err != nil {
			return err
		}
		m.board.Post(v)
		done, err := m.apply(v, change)
		if done || err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// apply links the view that change makes of v. It reports whether change leaves v as it is: only
// this shows that the change is done.
func (m *Manager) apply(v membership.View, change membership.Change) (done bool, err error) {
	next, err := change(v)
	if err != nil || next.Epoch == v.Epoch {
		return true, err
	}
	err = m.link(next)
	if errors.Is(err, os.ErrExist) {
		return false, nil
	}
	if err == nil {
		m.tidy(next.Epoch)
	}
	return false, err
}

// live writes a sign of life.
func (m *Manager) live() error {
	m.beat++
	return m.replace(m.pulseFile(m.me()), fmt.Appendf(nil, "%d\n", m.beat))
}

func (m *Manager) pulseFile(id membership.ID) string {
	return filepath.Join(m.cfg.Dir, "alive."+id.String())
}

// tidy removes views that are no longer needed, and the files of members that are in no remaining
// view. It may leave some for the next call.
func (m *Manager) tidy(newest uint32) {
	epochs, err := m.epochs()
	if err != nil {
		return
	}
	for _, epoch := range epochs {
		if epoch+keep > newest {
			continue
		}
		old, err := m.read(epoch)
		if err == nil {
			m.forget(old, newest)
		}
		os.Remove(m.viewFile(epoch))
	}
}

// forget removes the files of members of old that are no longer members.
func (m *Manager) forget(old membership.View, newest uint32) {
	now, err := m.read(newest)
	if err != nil {
		return
	}
	for _, member := range old.Members {
		if !slices.ContainsFunc(now.Members, func(other membership.Member) bool { return other.ID == member.ID }) {
			os.Remove(m.pulseFile(member.ID))
		}
	}
}
