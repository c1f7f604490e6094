package meet

import (
	"fmt"
	"maps"
	"net"
	"strings"
)

// guide lets rank 0 show other ranks the way if only its own address is known: a rank that asks is
// told where the rank above it waits, when that has come.
type guide struct {
	doors   map[int]string // by rank
	waiting map[int]*link  // by rank: links of ranks that have asked
	shown   map[int]bool   // ranks that were told and have not arrived yet
}

func newGuide() guide {
	return guide{doors: map[int]string{}, waiting: map[int]*link{}, shown: map[int]bool{}}
}

// direct handles a rank that does not belong directly below rank 0.
func (n *node) direct(l *link, h *hello) error {
	if before := n.guide.waiting[h.rank]; before != nil {
		before.finish(appendStatus(nil, fmt.Sprintf("another process has come as rank %d, from %v", h.rank, l.conn.RemoteAddr())), farewellTime)
	}
	n.guide.waiting[h.rank] = l
	return n.guide.learn(h, l.conn.RemoteAddr())
}

// learn records where a rank waits, and tells the ranks that wait for that.
func (g *guide) learn(h *hello, from net.Addr) error {
	delete(g.shown, h.rank)
	if h.door != "" {
		door, err := fillHost(h.door, from)
		if err != nil {
			return fmt.Errorf("rank %d waits at an address that is none: %w", h.rank, err)
		}
		g.doors[h.rank] = door
		for rank := h.rank*fanOut + 1; rank <= h.rank*fanOut+fanOut; rank++ {
			g.show(rank)
		}
	}
	g.show(h.rank)
	return nil
}

// show tells a rank that has asked the way, if it is known.
func (g *guide) show(rank int) {
	l, door := g.waiting[rank], g.doors[above(rank)]
	if l != nil && door != "" {
		l.finish(appendBytes(appendStatus(nil, ""), door), farewellTime)
		delete(g.waiting, rank)
		g.shown[rank] = true
	}
}

// forget handles a rank that has gone: those below it wait until it has come again.
func (g *guide) forget(rank int) {
	delete(g.doors, rank)
	maps.DeleteFunc(g.shown, func(other int, _ bool) bool { return isBelow(other, rank) })
}

// absence says which ranks are not here when the wait ends, and whether other connections were
// refused.
func (n *node) absence(cause error) error {
	why, besides, last := n.absent()
	return &absentError{why, besides, cause, last}
}

// absentError is the error of absence.
type absentError struct {
	why, besides string // which ranks are not here, and which connections were refused
	cause, last  error  // what has ended the wait; why the last connection was refused, or nil
}

func (e *absentError) Error() string { return e.why + ": " + e.cause.Error() + e.besides }

func (e *absentError) Unwrap() []error {
	if e.last == nil {
		return []error{e.cause}
	}
	return []error{e.cause, e.last}
}

// absent describes which ranks are not here, and whether connections were refused. last is the
// reason of the last refusal, if that connection spoke the protocol.
func (n *node) absent() (why, besides string, last error) {
	var absent []int
	for rank := 1; rank < n.cfg.Size; rank++ {
		if _, here := n.roster.come[rank]; !here && n.guide.waiting[rank] == nil && !n.guide.shown[rank] && !n.roster.cut[rank] && n.roster.gone[rank] == "" {
			absent = append(absent, rank)
		}
	}
	why = n.missing(absent)
	refused, last := n.guests.count()
	switch {
	case refused == 1 && last != nil:
		besides = fmt.Sprintf(" (besides, a connection was refused: %v)", last)
	case last != nil:
		besides = fmt.Sprintf(" (besides, %d connections were refused, one of them: %v)", refused, last)
	case refused > 0:
		besides = fmt.Sprintf(" (besides, %d connections that said nothing were refused)", refused)
	}
	return why, besides, last
}

// maxGone is how many ranks that have gone are named.
const maxGone = 4

// missing says which ranks have not come, which have gone, and whether others may be unable to
// reach rank 0 at all.
func (n *node) missing(absent []int) string {
	var parts []string
	if len(absent) > 0 {
		parts = append(parts, notCome(absent))
	}
	for rank := 1; rank < n.cfg.Size && len(parts) <= maxGone; rank++ {
		if why := n.roster.gone[rank]; why != "" {
			parts = append(parts, fmt.Sprintf("rank %d has gone before all had arrived (%s) and has not come again", rank, why))
		}
	}
	if host, at := hostIn(n.cfg.Coordinator), n.door.Addr(); len(absent) > 0 && isName(host) && isLoopback(at.String()) {
		parts = append(parts, fmt.Sprintf("%s, where rank 0 waits, is %v on its host, which others cannot reach", host, at))
	}
	if len(parts) == 0 {
		return "not all ranks have reached the one above them"
	}
	return strings.Join(parts, "; ")
}
