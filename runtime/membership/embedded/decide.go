package embedded

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime/membership"
)

var (
	errNoQuorum   = errors.New("too few members answer")
	errNotManager = errors.New("another member is the manager")
)

// change makes the members decide the view that change makes of the newest view. Only one goroutine
// of a process decides at a time.
func (m *Manager) change(ctx context.Context, change membership.Change) error {
	return m.propose(ctx, change, func(v membership.View) bool { return m.manages(v) })
}

// propose makes the members decide a change, as long as entitled says that this member may.
func (m *Manager) propose(ctx context.Context, change membership.Change, entitled func(membership.View) bool) error {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for {
		base := m.board.View()
		if !entitled(base) {
			return errNotManager
		}
		next, err := change(base)
		if err != nil || next.Epoch == base.Epoch {
			return err
		}
		if err := m.decide(ctx, base, next); err != nil {
			return fmt.Errorf("decide view %d: %w", next.Epoch, err)
		}
		m.touch()
	}
}

// decide tries once to make the members of base decide the next view: next, or a view that a member
// has accepted before. When it returns nil, a view is decided and learnt.
func (m *Manager) decide(ctx context.Context, base, next membership.View) error {
	rank := base.Rank(m.me().ID)
	if rank < 0 {
		return errNotManager
	}
	b := m.nextBallot(ballot(rank), ballot(len(base.Members)))
	if b > 0 { // only the first member has ballot 0, and only once
		p, err := m.round(ctx, base, &request{Kind: kindPrepare, Ballot: b})
		if err != nil || p == nil {
			return err
		}
		if p.accepted != nil {
			next = p.accepted.View
		}
	}
	p, err := m.round(ctx, base, &request{Kind: kindAccept, Ballot: b, Next: &next})
	if err != nil || p == nil {
		return err
	}
	m.learn(next)
	return nil
}

// nextBallot returns and promises a ballot of this member: at first its rank, and later a ballot
// that is greater than all promised ballots.
func (m *Manager) nextBallot(rank, size ballot) ballot {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := rank
	if above := m.acceptor.promised; m.acceptor.accepted != nil || above > 0 {
		b += (above/size + 1) * size
	}
	m.acceptor.promised = b
	return b
}

// round asks all members of base at once. It returns the poll when enough agree, nil if the view
// after base turns out to be decided already, and else errNoQuorum.
func (m *Manager) round(ctx context.Context, base membership.View, q *request) (*poll, error) {
	var asked sync.WaitGroup
	defer asked.Wait()
	ctx, cancel := clock.WithTimeoutCause(ctx, m.cfg.Clock, m.cfg.TTL/2, errSilent)
	defer cancel() // ends the remaining requests
	q.Base = &base
	outcomes := make(chan outcome, len(base.Members))
	for rank, member := range base.Members {
		if member.ID == m.me().ID {
			outcomes <- outcome{rank: rank, answer: m.vote(q)}
			continue
		}
		own := *q
		asked.Go(func() {
			r, err := m.askMember(ctx, &member, &own)
			o := outcome{rank: rank, gone: refused(err)}
			if err == nil {
				o.answer = r.answer
			}
			outcomes <- o
		})
	}
	return m.gather(base, outcomes)
}

// outcome is the result of asking one member.
type outcome struct {
	rank   int
	answer answer
	gone   bool
}

func (m *Manager) gather(base membership.View, outcomes <-chan outcome) (*poll, error) {
	p := newPoll(len(base.Members))
	for heard := range base.Members {
		o := <-outcomes
		p.gone[o.rank] = o.gone
		p.count(o.rank, o.answer)
		if m.board.View().Epoch > base.Epoch {
			return nil, nil
		}
		if p.enough(heard == len(base.Members)-1) {
			return p, nil
		}
	}
	m.outbid(p.promised)
	return nil, errNoQuorum
}

// vote is this member's own answer to q.
func (m *Manager) vote(q *request) answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	if q.Kind == kindPrepare {
		return m.acceptor.prepare(*q.Base, q.Ballot)
	}
	return m.acceptor.accept(*q.Base, q.Ballot, *q.Next)
}

// outbid records that ballot b has been promised to some proposer.
func (m *Manager) outbid(b ballot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.acceptor.promised = max(m.acceptor.promised, b)
}
