package embedded

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime/membership"
)

// maxGuests is the greatest number of connections served at a time: one for each member, and more
// for further requests and strangers.
const maxGuests = 4*membership.MaxMembers + 64

// accept serves connections until the listener is closed.
func (m *Manager) accept() {
	pause := time.Millisecond
	for {
		conn, err := m.cfg.Listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of descriptors, say: open connections go on
			pause = min(2*pause, m.cfg.TTL/16)
			if clock.Sleep(m.ctx, m.cfg.Clock, pause) != nil {
				return
			}
		case !m.welcome(1):
			conn.Close()
		default:
			m.wg.Go(func() {
				m.serve(conn)
				m.welcome(-1)
			})
		}
	}
}

// welcome counts n more guests, if there is room, and reports whether there is.
func (m *Manager) welcome(n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.guests+n > maxGuests {
		return false
	}
	m.guests += n
	return true
}

// serve answers one request. It closes a connection that sends nothing, or does not take its
// answer, for TTL.
func (m *Manager) serve(conn net.Conn) {
	defer conn.Close()
	stop := context.AfterFunc(m.ctx, func() { conn.Close() })
	defer stop()
	timer := m.cfg.Clock.AfterFunc(m.cfg.TTL, func() { conn.Close() })
	defer timer.Stop()
	l, q := newLine(conn), new(request)
	if err := l.read(q); err != nil {
		return
	}
	timer.Stop()
	var r *response
	switch err := q.check(m.cfg.Group); {
	case q.To != (membership.ID{}) && q.To != m.me().ID: // whatever its group
		r = &response{Other: true}
	case err != nil:
		r = &response{Err: err.Error()}
	case q.Kind == kindAttach:
		m.heed(q)
		m.stream(l, q.From)
		return
	default:
		m.heed(q)
		r = m.respond(q)
	}
	timer.Reset(m.cfg.TTL)
	l.write(r)
}

// heed takes the view in a request.
func (m *Manager) heed(q *request) {
	if q.Base != nil {
		m.learn(*q.Base)
	}
}

// respond does what q asks for. It may take until a view is decided.
func (m *Manager) respond(q *request) *response {
	switch q.Kind {
	case kindPrepare, kindAccept:
		return &response{answer: m.vote(q)}
	case kindJoin:
		return m.manage(membership.Joined(*q.Member))
	case kindLeave:
		return m.manage(membership.Without(q.From))
	case kindReport:
		return m.manage(membership.Reported(q.From, q.Epoch, q.Lost))
	}
	return &response{answer: answer{View: m.board.View()}} // to a ping
}

// manage makes a change that another member asks for.
func (m *Manager) manage(change membership.Change) *response {
	ctx, stop := clock.WithTimeoutCause(m.ctx, m.cfg.Clock, m.cfg.TTL, errSilent)
	defer stop()
	err := m.change(ctx, change)
	r := &response{answer: answer{View: m.board.View()}}
	switch {
	case errors.Is(err, errNotManager):
		r.Elsewhere = true
	case errors.Is(err, membership.ErrFull):
		r.Err = membership.ErrFull.Error()
	case err != nil:
		r.Err = err.Error()
	}
	return r
}

// stream sends views to a member, and signs of life in both directions, as long as id is a member
// and this member is the manager.
func (m *Manager) stream(l *line, id membership.ID) {
	m.hear(id)
	silence := m.cfg.Clock.AfterFunc(m.cfg.TTL, func() { l.conn.Close() })
	defer silence.Stop()
	broken := make(chan struct{})
	m.wg.Go(func() {
		defer close(broken)
		for beat := new(request); l.read(beat) == nil; {
			m.hear(id)
			silence.Reset(m.cfg.TTL)
		}
	})
	m.send(l, id, broken)
	l.conn.Close()
	<-broken
	m.check(id)
}

// send sends until nothing more can or need be sent.
func (m *Manager) send(l *line, id membership.ID, broken <-chan struct{}) {
	tick := make(chan struct{}, 1)
	timer := m.beats(tick)
	defer timer.Stop()
	for sent := uint32(0); ; {
		changed := m.board.Changed()
		v := m.board.View()
		r := &response{Alive: true}
		if v.Epoch > sent {
			r, sent = &response{answer: answer{View: v}, Elsewhere: !m.manages(v)}, v.Epoch
		}
		if l.write(r) != nil || r.Elsewhere || !v.Has(id) {
			return
		}
		select {
		case <-changed:
		case <-tick:
			timer.Reset(m.cfg.TTL / 4)
		case <-broken:
			return
		}
	}
}

// beats fills tick when a sign of life is due.
func (m *Manager) beats(tick chan<- struct{}) clock.Timer {
	return m.cfg.Clock.AfterFunc(m.cfg.TTL/4, func() {
		select {
		case tick <- struct{}{}:
		default:
		}
	})
}

// hear records a sign of life.
func (m *Manager) hear(id membership.ID) {
	now := m.cfg.Clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.acceptor.view.Has(id) {
		m.heard[id] = now
	}
}

// check tests whether a member whose connection has ended is dead: then its address refuses another
// connection. If the member lives, it will connect again, or be silent.
func (m *Manager) check(id membership.ID) {
	v := m.board.View()
	rank := v.Rank(id)
	if rank < 0 || !m.manages(v) || m.ctx.Err() != nil {
		return
	}
	if _, err := m.ask(m.ctx, &v.Members[rank], &request{Kind: kindPing}); refused(err) {
		m.manage(membership.Without(id))
	}
}
