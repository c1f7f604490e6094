package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/board"
	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/notice"
	"github.com/schedgen/schedgen/runtime/membership"
)

// Config says where etcd is.
type Config struct {
	// Endpoints are the URLs of one cluster's servers, such as "http://node0:2379". They are tried
	// one after the other.
	Endpoints []string
	// Prefix is the prefix of the group's keys. No other group may use it. A slash is appended.
	Prefix string
	// TTL is how long a member may be silent, in whole seconds; default 5 s. etcd may demand more.
	TTL time.Duration
	// Client says how to reach the endpoints, for example with which certificates; nil means the
	// default. It must not limit the time of an answer, since a watch never ends.
	Client *http.Client
	// Clock is the source of time; nil means the system's clock.
	Clock clock.Clock
	// Log, if not nil, gets a warning that says what this member waits for, to join or to have a
	// change made: after two seconds and then at growing intervals.
	Log *slog.Logger
}

// Manager is one member's access to the group's keys.
type Manager struct {
	cfg   Config
	etcd  gateway
	board board.Board

	ctx   context.Context // ends with Close, or when etcd is lost
	close context.CancelCauseFunc
	wg    sync.WaitGroup
	timer clock.Timer // ends the membership; set by Join

	mu    sync.Mutex
	self  membership.ID // set by Join
	lease lease         // the member's lease; its ID is 0 before Join
}

// New returns a manager for one member. It does not call etcd before Join.
func New(cfg Config) (*Manager, error) {
	if cfg.TTL == 0 {
		cfg.TTL = 5 * time.Second
	}
	if len(cfg.Endpoints) == 0 || cfg.TTL < time.Second || cfg.Prefix == "" {
		return nil, fmt.Errorf("etcd manager: Config.Endpoints has %d addresses, Config.Prefix is %q and Config.TTL is %v: all are needed, and the TTL must be at least 1s", len(cfg.Endpoints), cfg.Prefix, cfg.TTL)
	}
	cfg.Clock = clock.OrSystem(cfg.Clock)
	cfg.Prefix = strings.TrimSuffix(cfg.Prefix, "/") + "/"
	if cfg.Client == nil {
		cfg.Client = &http.Client{Transport: &http.Transport{}}
	}
	m := &Manager{cfg: cfg}
	m.etcd.client, m.etcd.clock, m.etcd.patience = cfg.Client, cfg.Clock, cfg.TTL/4
	for _, e := range cfg.Endpoints {
		m.etcd.endpoints = append(m.etcd.endpoints, strings.TrimSuffix(e, "/"))
	}
	m.ctx, m.close = context.WithCancelCause(context.Background())
	return m, nil
}

// Join implements [membership.Manager]. If etcd does not answer, Join asks again until ctx ends.
func (m *Manager) Join(ctx context.Context, self membership.Member) (membership.View, error) {
	err := m.begin(self)
	if err == nil {
		err = m.urge(ctx, func(ctx context.Context) error { return m.enter(ctx, self) })
	}
	if err != nil {
		return membership.View{}, fmt.Errorf("join the group at %s: %w", m.cfg.Prefix, err)
	}
	m.wg.Go(m.renew)
	m.wg.Go(m.follow)
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

// me returns the identity of this member.
func (m *Manager) me() membership.ID {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.self
}

// leased returns the member's lease.
func (m *Manager) leased() lease {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lease
}

// enter takes a lease, once, and makes a view with self.
func (m *Manager) enter(ctx context.Context, self membership.Member) error {
	if m.leased().ID == 0 {
		begun := m.cfg.Clock.Now()
		var l lease
		if err := m.etcd.call(ctx, "/v3/lease/grant", &lease{TTL: int64(m.cfg.TTL / time.Second)}, &l); err != nil {
			return err
		}
		m.mu.Lock()
		m.lease = l
		m.timer = m.cfg.Clock.AfterFunc(m.rest(begun), m.lost)
		m.mu.Unlock()
	}
	return m.change(ctx, membership.Joined(self), operation{Put: &keyValue{Key: m.key("alive/" + self.ID.String()), Lease: m.leased().ID}})
}

// rest returns how long the current lease still lasts, if it was requested at begun. The caller
// holds the lock.
func (m *Manager) rest(begun time.Time) time.Duration {
	return time.Duration(m.lease.TTL)*time.Second - m.cfg.Clock.Now().Sub(begun)
}

// Watch implements [membership.Manager].
func (m *Manager) Watch(ctx context.Context, after uint32) (membership.View, error) {
	return m.board.Wait(ctx, after)
}

// Report implements [membership.Manager].
func (m *Manager) Report(ctx context.Context, epoch uint32, lost ...membership.ID) error {
	err := m.urge(ctx, func(ctx context.Context) error {
		return m.change(ctx, membership.Reported(m.me(), epoch, lost), m.dead(lost)...)
	})
	if err != nil {
		return fmt.Errorf("report lost members: %w", err)
	}
	return nil
}

// Leave implements [membership.Manager].
func (m *Manager) Leave(ctx context.Context) error {
	ids := []membership.ID{m.me()}
	err := m.urge(ctx, func(ctx context.Context) error {
		return m.change(ctx, membership.Without(ids...), m.dead(ids)...)
	})
	if err != nil && !errors.Is(err, membership.ErrExpelled) {
		return fmt.Errorf("leave the group at %s: %w", m.cfg.Prefix, err)
	}
	return nil
}

// dead returns the operations that remove the keys of ids.
func (m *Manager) dead(ids []membership.ID) (ops []operation) {
	for _, id := range ids {
		ops = append(ops, operation{Delete: &rangeRequest{Key: m.key("alive/" + id.String())}})
	}
	return ops
}

// Close implements [membership.Manager].
func (m *Manager) Close() error {
	m.board.Fail(membership.ErrClosed)
	m.end(membership.ErrClosed)
	m.wg.Wait()
	m.release()
	m.cfg.Client.CloseIdleConnections()
	return nil
}

// release gives the lease back, so that the others need not wait for its end. If etcd does not get
// the request, the lease ends by itself.
func (m *Manager) release() {
	m.mu.Lock()
	l := m.lease
	m.lease = lease{}
	m.mu.Unlock()
	if l.ID != 0 && !errors.Is(context.Cause(m.ctx), membership.ErrLost) {
		_ = m.etcd.call(context.Background(), "/v3/lease/revoke", &lease{ID: l.ID}, new(struct{}))
	}
}

// lost ends the membership: the lease may have ended.
func (m *Manager) lost() {
	m.end(fmt.Errorf("%w: etcd at %s has not renewed the lease in time", membership.ErrLost, strings.Join(m.cfg.Endpoints, ", ")))
}

func (m *Manager) end(err error) {
	m.close(err) // close first: a member that hears of the loss must not find its manager alive
	m.board.Fail(err)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer != nil {
		m.timer.Stop()
	}
}

// urge repeats try until it succeeds, ctx ends, or etcd is lost.
func (m *Manager) urge(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(context.Canceled)
	defer context.AfterFunc(m.ctx, func() { cancel(context.Cause(m.ctx)) })()
	var trouble notice.Trouble
	trouble.Set("no answer yet")
	defer notice.Wait(m.cfg.Clock, m.cfg.Log, func() string {
		return fmt.Sprintf("waiting for etcd at %s: %v", strings.Join(m.cfg.Endpoints, ", "), &trouble)
	})()
	var last error
	for {
		err := try(ctx)
		switch {
		case err == nil || errors.Is(err, membership.ErrFull):
			return err
		case m.ctx.Err() != nil:
			return context.Cause(m.ctx)
		case last == nil || ctx.Err() == nil:
			last = err // a later error may only say that ctx has ended
			trouble.Set(err.Error())
		}
		if ended := m.pause(ctx); ended != nil {
			return fmt.Errorf("%w (%w)", ended, last)
		}
	}
}

// pause waits before the next request to etcd.
func (m *Manager) pause(ctx context.Context) error {
	return clock.Sleep(ctx, m.cfg.Clock, m.cfg.TTL/16)
}

// renew renews the lease, four times in its duration, until the membership ends.
func (m *Manager) renew() {
	l := m.leased()
	for clock.Sleep(m.ctx, m.cfg.Clock, time.Duration(l.TTL)*time.Second/4) == nil {
		begun := m.cfg.Clock.Now()
		var r keepAlive
		err := m.etcd.call(m.ctx, "/v3/lease/keepalive", &lease{ID: l.ID}, &r)
		switch {
		case err != nil || r.Result.ID != l.ID: // the answer says nothing about the lease
		case r.Result.TTL == 0:
			m.lost()
			return
		default:
			m.renewed(begun)
		}
	}
}

// renewed postpones the end of the membership: the lease was renewed after begun.
func (m *Manager) renewed(begun time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() == nil {
		m.timer.Reset(m.rest(begun))
	}
}

// follow posts views and removes dead members, until this process is no longer a member. It retries
// failures, until etcd is lost.
func (m *Manager) follow() {
	for m.ctx.Err() == nil {
		s, err := m.read(m.ctx)
		if err == nil && !s.view.Has(m.me()) {
			m.end(membership.ErrExpelled)
			return
		}
		if err == nil {
			err = m.attend(s)
		}
		if err != nil {
			m.pause(m.ctx)
		}
	}
}

// attend removes members without a sign of life or, if there are none, waits for a change.
func (m *Manager) attend(s *state) error {
	var silent []membership.ID
	for _, member := range s.view.Members {
		if !s.alive[member.ID.String()] {
			silent = append(silent, member.ID)
		}
	}
	if len(silent) > 0 {
		_, err := m.apply(m.ctx, s, membership.Without(silent...))
		return err
	}
	key, end := m.all()
	return m.etcd.await(m.ctx, key, end, s.revision+1, m.cfg.TTL/2)
}
