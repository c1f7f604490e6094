package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime/membership"
)

// follow is the work of a member from Join on: it manages, or follows the manager, or makes sure
// that there is one.
func (m *Manager) follow() {
	for m.ctx.Err() == nil {
		v := m.board.View()
		switch {
		case !v.Has(m.me().ID):
			m.board.Fail(membership.ErrExpelled)
			return
		case m.manages(v):
			m.lead()
		default:
			m.attend(v)
		}
		if m.board.View().Epoch == v.Epoch && m.impatient() {
			m.board.Fail(fmt.Errorf("%w: for %v no manager has answered, or this manager has heard too few members", membership.ErrLost, m.cfg.Patience))
			m.silence() // otherwise others would take this process for a manager
			return
		}
	}
}

// attend follows the manager of v. If it does not answer, attend makes sure that there is another
// manager.
func (m *Manager) attend(v membership.View) {
	err := m.attach(v)
	switch {
	case m.board.View().Epoch > v.Epoch:
	case err != nil:
		m.succeed(v)
	default:
		m.linger(v)
	}
}

// linger waits before a retry, unless there is a newer view than v.
func (m *Manager) linger(v membership.View) {
	ctx, stop := clock.WithTimeoutCause(m.ctx, m.cfg.Clock, m.cfg.TTL/16, errSilent)
	defer stop()
	m.board.Wait(ctx, v.Epoch) // the board has the result
}

// lead is the manager's work, until it is no longer the manager or must give up: it removes silent
// members.
func (m *Manager) lead() {
	m.touch()
	m.secondLook()
	for m.manages(m.board.View()) {
		if silent := m.silent(); len(silent) == 0 {
			m.touch()
		} else if m.manage(membership.Without(silent...)); m.impatient() { // not earlier: it may have been stopped, and learns the decisions only now
			return
		}
		if !m.rest() {
			return
		}
	}
}

// secondLook gives all members the time to connect to this manager. It removes members that have
// died in between, since they have no connection that breaks.
func (m *Manager) secondLook() {
	if clock.Sleep(m.ctx, m.cfg.Clock, m.cfg.TTL/16) == nil {
		m.hearAll()
		m.proclaim()
	}
}

// rest waits for the next check for silent members. If that takes too long, this process was
// stopped, or had no time, and could not hear any member: the others may even have another manager,
// and name it when they are asked. rest reports false when the manager is closed.
func (m *Manager) rest() bool {
	begun := m.cfg.Clock.Now()
	if clock.Sleep(m.ctx, m.cfg.Clock, m.cfg.TTL/4) != nil {
		return false
	}
	if m.cfg.Clock.Now().Sub(begun) > m.cfg.TTL/2 {
		m.hearAll()
		m.proclaim()
	}
	return true
}

// hearAll gives all members the time to connect to this manager.
func (m *Manager) hearAll() {
	v := m.board.View()
	now := m.cfg.Clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, member := range v.Members {
		m.heard[member.ID] = now
	}
}

// silent returns the members that have been silent for TTL. Members that have joined since the last
// call start with a sign of life.
func (m *Manager) silent() (ids []membership.ID) {
	v, now, self := m.board.View(), m.cfg.Clock.Now(), m.me().ID
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.heard, func(id membership.ID, _ time.Time) bool { return !v.Has(id) })
	for _, member := range v.Members {
		last, known := m.heard[member.ID]
		switch {
		case member.ID == self:
		case !known:
			m.heard[member.ID] = now
		case now.Sub(last) > m.cfg.TTL:
			ids = append(ids, member.ID)
		}
	}
	return ids
}

// attach takes views from the manager of v until it is no longer the manager, or does not answer.
func (m *Manager) attach(v membership.View) error {
	manager, q := v.Members[0], m.hello(kindAttach)
	q.To, q.Base = manager.ID, &v // in case that member has not heard that it is the manager
	ctx, cancel := context.WithCancelCause(m.ctx)
	defer cancel(context.Canceled)
	m.wg.Go(func() {
		m.whileTurnedTo(ctx, manager.ID)
		cancel(context.Canceled)
	})
	silence := m.cfg.Clock.AfterFunc(m.cfg.TTL, func() { cancel(errSilent) })
	defer silence.Stop()
	l, stop, err := m.cfg.dial.open(ctx, manager.Manager, q)
	if err != nil {
		return err
	}
	defer stop()
	defer l.conn.Close()
	m.wg.Go(func() {
		m.beat(ctx, l)
		cancel(context.Canceled)
	})
	for {
		r, err := l.readResponse()
		switch {
		case err != nil:
			return err
		case r.Err != "":
			return said(r.Err)
		}
		silence.Reset(m.cfg.TTL)
		m.touch()
		if r.View.Epoch > 0 {
			m.learn(r.View)
		}
		if r.Elsewhere || !m.turnedTo(manager.ID) {
			return nil
		}
	}
}

// turnedTo reports whether this process is a member, and the given member is the manager.
func (m *Manager) turnedTo(manager membership.ID) bool {
	v := m.board.View()
	return v.Has(m.me().ID) && v.Members[0].ID == manager
}

func (m *Manager) hello(kind string) *request {
	return &request{Version: version, Group: m.cfg.Group, Kind: kind, From: m.me().ID}
}

// whileTurnedTo returns when another member is the manager, or ctx ends.
func (m *Manager) whileTurnedTo(ctx context.Context, manager membership.ID) {
	for {
		changed := m.board.Changed()
		if !m.turnedTo(manager) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// beat tells the manager that this member is alive, until ctx ends or the connection breaks.
func (m *Manager) beat(ctx context.Context, l *line) {
	tick := make(chan struct{}, 1)
	timer := m.beats(tick)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			timer.Reset(m.cfg.TTL / 4)
			if l.write(m.hello(kindPing)) != nil {
				return // the reader finds that too
			}
		}
	}
}

// succeed makes sure that there is a manager when the manager of v does not answer: this member, if
// no member before it answers.
func (m *Manager) succeed(v membership.View) {
	before := v.Members[:v.Rank(m.me().ID)]
	for asked := 0; asked < len(before); {
		some := before[asked:min(8*max(1, asked), len(before))]
		there := m.anyAnswers(some, &v)
		switch {
		case m.board.View().Epoch > v.Epoch:
			return
		case there: // one of them manages, or will
			m.linger(v)
			return
		}
		asked += len(some)
	}
	var absent []membership.ID
	for _, member := range before {
		absent = append(absent, member.ID)
	}
	err := m.propose(m.ctx, membership.Without(absent...), func(now membership.View) bool { return now.Epoch == v.Epoch || m.manages(now) })
	switch {
	case err == nil:
		m.proclaim()
	case !errors.Is(err, errNotManager):
		m.linger(v)
	}
}

// anyAnswers asks some members of v at once whether they are there. It also tells them v, since
// they may be cut off from the members that would have told them.
func (m *Manager) anyAnswers(members []membership.Member, v *membership.View) bool {
	var asking sync.WaitGroup
	defer asking.Wait()
	ctx, stop := clock.WithTimeoutCause(m.ctx, m.cfg.Clock, m.cfg.TTL/2, errSilent)
	defer stop() // ends the remaining requests
	answers := make(chan bool, len(members))
	for _, member := range members {
		asking.Go(func() {
			r, err := m.askMember(ctx, &member, &request{Kind: kindPing, Base: v})
			answers <- err == nil && r.Err == ""
		})
	}
	for range members {
		if <-answers {
			return true
		}
	}
	return false
}

// proclaim tells all members of the newest view that this member is the manager now, so that they
// need not find that the previous manager is silent. Members that do not hear it find out
// themselves. proclaim removes members that have died.
func (m *Manager) proclaim() {
	v := m.board.View()
	if !m.manages(v) {
		return
	}
	ctx, stop := clock.WithTimeoutCause(m.ctx, m.cfg.Clock, m.cfg.TTL/4, errSilent)
	defer stop()
	dead := make([]bool, len(v.Members))
	var told sync.WaitGroup
	for rank, member := range v.Members[1:] {
		told.Go(func() {
			_, err := m.askMember(ctx, &member, &request{Kind: kindPing, Base: &v})
			dead[1+rank] = refused(err)
		})
	}
	told.Wait()
	var ids []membership.ID
	for rank, member := range v.Members {
		if dead[rank] {
			ids = append(ids, member.ID)
		}
	}
	m.manage(membership.Without(ids...))
}
