package meet

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// batchPause is how long the news of ranks that have come wait for more, so that the rank above
// hears of thousands in a few messages.
const batchPause = 20 * time.Millisecond

// slot is the state of a rank directly below this one.
type slot struct {
	link  *link    // nil: the rank is not here
	next  *arrival // replaces it if its process is dead
	ready bool     // the rank and all below it are prepared
}

// arrival is a rank that has said hello.
type arrival struct {
	link  *link
	hello *hello
	heard chan struct{} // closed when its further messages count, or do not matter
}

// arrive lets in a rank that has said hello; one that does not fit is an error for all.
func (n *node) arrive(a *arrival) error {
	l, h := a.link, a.hello
	s := n.below[h.rank]
	if s != nil && s.link != nil && n.tab == nil && h.size == n.cfg.Size {
		n.challenge(s, a)
		return nil
	}
	defer close(a.heard)
	switch {
	case h.size != n.cfg.Size:
		return n.refuse(l, fmt.Errorf("rank %d at %v was told that there are %d ranks, rank %d that there are %d",
			h.rank, l.conn.RemoteAddr(), h.size, n.cfg.Rank, n.cfg.Size))
	case h.rank == n.cfg.Rank:
		return n.refuse(l, fmt.Errorf("rank %d has arrived twice, the second time from %v", h.rank, l.conn.RemoteAddr()))
	case n.tab != nil:
		l.finish(appendStatus(nil, errTooLate.Error()), farewellTime)
	case s == nil && n.cfg.Rank == 0 && n.cfg.Doors == nil:
		return n.direct(l, h)
	case s == nil:
		l.finish(appendStatus(nil, fmt.Sprintf("rank %d waits for ranks right below it, not for rank %d", n.cfg.Rank, h.rank)), farewellTime)
	default:
		return n.enroll(s, a)
	}
	return nil
}

// refuse tells the offending rank the error, in addition to all others.
func (n *node) refuse(l *link, err error) error {
	l.finish(appendStatus(nil, err.Error()), farewellTime)
	return err
}

// challenge handles a rank that comes again while it is here. If its process was started again, the
// old process is dead, though the system may not have reported it: it does not answer. If it
// answers, there are two processes with one rank.
func (n *node) challenge(s *slot, next *arrival) {
	text := appendStatus(nil, fmt.Sprintf("another process has come as rank %d, from %v", next.hello.rank, next.link.conn.RemoteAddr()))
	switch {
	case s.next != nil:
		s.next.link.finish(text, farewellTime)
		close(s.next.heard)
	default:
		s.link.finish(text, helloTime)
		n.lose(next.hello.rank, "another process has come in its place")
	}
	s.next = next
}

func (n *node) enroll(s *slot, a *arrival) error {
	rank, from := a.hello.rank, a.link.conn.RemoteAddr()
	addr, err := fillHost(a.hello.addr, from)
	if err != nil {
		return n.refuse(a.link, fmt.Errorf("rank %d listens at an address that is none: %w", rank, err))
	}
	*s = slot{link: a.link}
	n.roster.add(entry{rank, addr, a.hello.blob})
	if err := n.guide.learn(a.hello, from); err != nil {
		return n.refuse(a.link, err)
	}
	return n.progress()
}

// left is called when a rank that was here has hung up.
func (n *node) left(l *link, rank int, why error) error {
	if n.guide.waiting[rank] == l {
		delete(n.guide.waiting, rank)
	}
	s := n.below[rank]
	switch {
	case s == nil || s.link != l:
	case n.tab != nil:
		return &tooLateError{rank, hungUp(why)}
	case s.next != nil:
		defer close(s.next.heard)
		return n.enroll(s, s.next)
	default:
		*s = slot{}
		n.lose(rank, hungUp(why))
	}
	return nil
}

func hungUp(why error) string { return fmt.Sprintf("it hung up: %v", why) }

// lose records that a rank and those below it are no longer here.
func (n *node) lose(rank int, why string) {
	n.roster.lose(rank, why)
	n.guide.forget(rank)
	if n.up != nil {
		n.up.send(appendOf(nil, noteGone, rank, why))
	}
}

// noted handles a message of a rank over l.
func (n *node) noted(l *link, rank int, said *note) error {
	s := n.below[rank]
	switch {
	case said.kind == noteQuit && (n.guide.waiting[rank] == l || s != nil && s.link == l):
		return n.quit(said)
	case s == nil || s.link != l:
	case s.next != nil && said.kind == noteAlive:
		return fmt.Errorf("rank %d has arrived twice, from %v and from %v: both processes live", rank, l.conn.RemoteAddr(), s.next.link.conn.RemoteAddr())
	case s.next != nil: // its messages no longer count
	case said.kind == noteFault:
		return errors.New(said.why)
	case said.kind == noteReady:
		s.ready = true
	case said.kind == noteGone && n.tab != nil:
		return &tooLateError{said.rank, said.why}
	case said.kind == noteGone:
		n.lose(said.rank, said.why)
	case said.kind == noteCome && n.tab == nil:
		for _, e := range said.come {
			n.roster.add(e)
		}
		return n.progress()
	}
	return nil
}

// quit handles a rank that waits no longer; rank 0 decides the consequences.
func (n *node) quit(said *note) error {
	switch {
	case n.cfg.Rank > 0 && n.up == nil: // no rank can do anything about it
		return nil
	case n.cfg.Rank > 0:
		n.up.send(appendOf(nil, noteQuit, said.rank, said.why))
		return nil
	case n.tab == nil:
		return n.absence(fmt.Errorf("rank %d waits no longer: %s", said.rank, said.why))
	}
	return fmt.Errorf("rank %d: %s", said.rank, said.why)
}

// tellNews tells the rank above which ranks have come: at once if the last one has, otherwise in
// batches.
func (n *node) tellNews() {
	if n.up == nil || len(n.roster.news) == 0 {
		return
	}
	if n.roster.complete() {
		n.up.send(appendCome(nil, n.roster.take()))
		return
	}
	if n.late {
		return
	}
	n.late = true
	n.cfg.Clock.AfterFunc(batchPause, func() {
		n.post(func() error {
			n.late = false
			if n.up != nil {
				n.up.send(appendCome(nil, n.roster.take()))
			}
			return nil
		})
	})
}

// unprepared returns the ranks directly below that wait for their own preparation or that of ranks
// below them.
func (n *node) unprepared() (ranks []int) {
	for rank, s := range n.below {
		if !s.ready {
			ranks = append(ranks, rank)
		}
	}
	slices.Sort(ranks)
	return ranks
}
