package meet

import (
	"fmt"
	"slices"
	"time"

	"github.com/schedgen/schedgen/internal/meet/internal/contact"
)

// batchPause is how long the news of an arrival waits for more arrivals, so that the parent hears
// of thousands of ranks in a few messages.
const batchPause = 20 * time.Millisecond

// child is the state of a child of this rank.
type child struct {
	link  *link    // nil: the rank is not here
	next  *arrival // replaces it if its process is dead
	ready bool     // the rank and all below it are prepared
}

// arrival is a rank that has said hello.
type arrival struct {
	link   *link
	hello  *hello
	counts chan struct{} // closed when its reports count, or do not matter
}

// arrive lets in a rank that has said hello; one that does not fit is an error for all.
func (n *node) arrive(a *arrival) error {
	l, h := a.link, a.hello
	c := n.children[h.rank]
	if c != nil && c.link != nil && n.table == nil && h.fault == "" && h.size == n.cfg.Size && h.transport == n.cfg.Transport {
		n.challenge(c, a)
		return nil
	}
	defer close(a.counts)
	switch {
	case h.fault != "" && (h.size == n.cfg.Size || h.size == 0):
		n.late.told(h.rank)
		return n.refuse(l, &saidError{h.fault})
	case h.size != n.cfg.Size:
		return n.refuse(l, fmt.Errorf("rank %d at %v was told that there are %d ranks, rank %d that there are %d",
			h.rank, l.conn.RemoteAddr(), h.size, n.cfg.Rank, n.cfg.Size))
	case h.transport != n.cfg.Transport:
		return n.refuse(l, fmt.Errorf("rank %d at %v uses the transport %s, rank %d the transport %s: all ranks need the same (see SCHEDGEN_TRANSPORT and SCHEDGEN_INTERFACE)",
			h.rank, l.conn.RemoteAddr(), contact.Printable([]byte(h.transport)), n.cfg.Rank, n.cfg.Transport))
	case h.rank == n.cfg.Rank:
		return n.refuse(l, fmt.Errorf("rank %d has arrived twice, the second time from %v", h.rank, l.conn.RemoteAddr()))
	case n.table != nil:
		l.finish(contact.AppendStatus(nil, errTooLate.Error()), contact.FarewellTime)
	case c == nil && n.cfg.Rank == 0 && n.cfg.Doors == nil:
		return n.sendToParent(l, h)
	case c == nil:
		l.finish(contact.AppendStatus(nil, fmt.Sprintf("rank %d waits for ranks right below it, not for rank %d", n.cfg.Rank, h.rank)), contact.FarewellTime)
	default:
		return n.enroll(c, a)
	}
	return nil
}

// refuse tells the offending rank the error, in addition to all others.
func (n *node) refuse(l *link, err error) error {
	l.finish(contact.AppendStatus(nil, err.Error()), contact.FarewellTime)
	return err
}

// challenge handles a rank that comes again while it is here. If its process was started again, the
// old process is dead and does not answer, even if the system has not reported its death yet. If
// the old process answers, two processes have one rank.
func (n *node) challenge(c *child, next *arrival) {
	text := appendAnotherProcess(next.hello.rank, next.link)
	switch {
	case c.next != nil:
		c.next.link.finish(text, contact.FarewellTime)
		close(c.next.counts)
	default:
		c.link.finish(text, contact.HelloTime)
		n.lose(next.hello.rank, "another process has come in its place")
	}
	c.next = next
}

// appendAnotherProcess returns the status for a process in whose place another one has come over l.
func appendAnotherProcess(rank int, l *link) []byte {
	return contact.AppendStatus(nil, fmt.Sprintf("another process has come as rank %d, from %v", rank, l.conn.RemoteAddr()))
}

// enroll takes in a child.
func (n *node) enroll(c *child, a *arrival) error {
	rank, from := a.hello.rank, a.link.conn.RemoteAddr()
	addr, err := fillHost(a.hello.addr, from)
	if err != nil {
		return n.refuse(a.link, fmt.Errorf("rank %d listens at an invalid address: %w", rank, err))
	}
	*c = child{link: a.link}
	n.roster.add(entry{rank, addr, a.hello.blob})
	if err := n.directory.learn(a.hello, from); err != nil {
		return n.refuse(a.link, err)
	}
	return n.progress()
}

// progress acts on the arrivals so far: rank 0 makes the table when all have come, and other ranks
// tell their parent the news.
func (n *node) progress() error {
	if n.cfg.Rank > 0 {
		n.reportNews()
		return nil
	}
	n.roster.news = nil
	if !n.roster.complete() {
		return nil
	}
	return n.makeTable()
}

// hungUp is called when a rank that was here has hung up.
func (n *node) hungUp(l *link, rank int, why error) error {
	if n.directory.waiting[rank] == l {
		delete(n.directory.waiting, rank)
	}
	c, text := n.children[rank], fmt.Sprintf("it hung up: %v", why)
	switch {
	case c == nil || c.link != l:
	case n.table != nil:
		return &tooLateError{rank, text}
	case c.next != nil:
		defer close(c.next.counts)
		return n.enroll(c, c.next)
	default:
		*c = child{}
		n.lose(rank, text)
	}
	return nil
}

// lose records that a rank and those below it are no longer here.
func (n *node) lose(rank int, why string) {
	n.roster.lose(rank, why)
	n.directory.forget(rank)
	if n.parent != nil {
		n.parent.send(appendAbout(nil, reportGone, rank, why))
	}
}

// hear handles a report of a rank over l.
func (n *node) hear(l *link, rank int, r *report) error {
	c := n.children[rank]
	switch {
	case r.kind == reportQuit && (n.directory.waiting[rank] == l || c != nil && c.link == l):
		return n.quit(r)
	case c == nil || c.link != l:
	case c.next != nil && r.kind == reportAlive:
		return fmt.Errorf("rank %d has arrived twice, from %v and from %v: both processes live", rank, l.conn.RemoteAddr(), c.next.link.conn.RemoteAddr())
	case c.next != nil: // its reports no longer count
	case r.kind == reportFault:
		return &saidError{r.why}
	case r.kind == reportReady:
		c.ready = true
	case r.kind == reportGone && n.table != nil:
		return &tooLateError{r.rank, r.why}
	case r.kind == reportGone:
		n.lose(r.rank, r.why)
	case r.kind == reportCome && n.table == nil:
		for _, e := range r.come {
			n.roster.add(e)
		}
		return n.progress()
	}
	return nil
}

// quit handles a rank that waits no longer; rank 0 decides the consequences.
func (n *node) quit(r *report) error {
	switch {
	case n.cfg.Rank > 0 && n.parent == nil: // no rank can do anything about it
		return nil
	case n.cfg.Rank > 0:
		n.parent.send(appendAbout(nil, reportQuit, r.rank, r.why))
		return nil
	case n.table == nil:
		return n.absence(fmt.Errorf("rank %d waits no longer: %s", r.rank, r.why))
	}
	return fmt.Errorf("rank %d: %s", r.rank, r.why)
}

// reportNews tells the parent which ranks have come: at once if the last one has, otherwise in
// batches.
func (n *node) reportNews() {
	if n.parent == nil || len(n.roster.news) == 0 {
		return
	}
	if n.roster.complete() {
		n.parent.send(appendCome(nil, n.roster.takeNews()))
		return
	}
	if n.batching {
		return
	}
	n.batching = true
	n.cfg.Clock.AfterFunc(batchPause, func() {
		n.post(func() error {
			n.batching = false
			if n.parent != nil {
				n.parent.send(appendCome(nil, n.roster.takeNews()))
			}
			return nil
		})
	})
}

// handOut sends the table to the children.
func (n *node) handOut() error {
	if len(n.children) == 0 {
		return nil
	}
	msg := appendTable(nil, n.table)
	for rank, c := range n.children {
		if c.link == nil {
			return &tooLateError{rank, n.roster.gone[rank]}
		}
		c.link.send(msg)
	}
	return n.fillOwnHost()
}

// unprepared returns the children that wait for their own preparation or that of ranks below them.
func (n *node) unprepared() (ranks []int) {
	for rank, c := range n.children {
		if !c.ready {
			ranks = append(ranks, rank)
		}
	}
	slices.Sort(ranks)
	return ranks
}

// dismiss sends the outcome to all that are here, and hangs up.
func (n *node) dismiss() {
	last := contact.AppendStatus(nil, n.why)
	for rank, c := range n.children {
		if c.link != nil {
			c.link.finish(last, contact.FarewellTime)
			n.late.told(rank)
		}
		if c.next != nil {
			c.next.link.finish(last, contact.FarewellTime)
		}
	}
	for rank, l := range n.directory.waiting {
		l.finish(last, contact.FarewellTime)
		n.late.told(rank)
	}
	for rank := range n.roster.come {
		n.late.told(rank) // by the rank above it
	}
}
