package explore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/core"
)

// ended reports whether all ranks have closed, died or failed.
func (s *system) ended(w *world) bool {
	for rank := range w.ranks {
		if s.local(w, rank).unfinished {
			return false
		}
	}
	return true
}

// early returns the problem if e, which is about to happen, is a call that returns too early,
// judged by the states of the other ranks. It returns "" if there is none.
func (s *system) early(w *world, e event) (problem string) {
	if e.kind() != evReturn {
		return ""
	}
	l := s.local(w, e.rank())
	call := int(e.index())
	c := l.script[call]
	if s.Odd != nil {
		if c.synchronizes() && call > s.parted {
			return fmt.Sprintf("rank %d returns from %s, though call %d was not the same at all ranks", e.rank(), l.callName(call+1), s.parted+1)
		}
		return ""
	}
	for other := range w.ranks {
		o := s.local(w, other)
		switch {
		case c.Flush && c.Origin == e.rank() && !o.gone() && o.failed == "" && o.core.Came(e.rank()) < l.published(call):
			return fmt.Sprintf("rank %d returns from its flush before rank %d has its messages", e.rank(), other)
		case other == e.rank() || o.closed || o.over.has(call):
		case c.synchronizes() && o.begun <= call:
			return fmt.Sprintf("rank %d returns from %s before rank %d has entered it", e.rank(), l.callName(call+1), other)
		case c.Acked && c.root == e.rank() && !o.whole.has(call):
			return fmt.Sprintf("the root, rank %d, returns from %s before rank %d has the message", e.rank(), l.callName(call+1), other)
		}
	}
	return ""
}

// sound returns the problem with the state of rank: an error that has no cause, or an error that
// does not name the rank that it is about. It returns "" if there is none.
func (s *system) sound(w *world, rank int) (problem string) {
	l := s.local(w, rank)
	if l.gone() || l.broken == nil {
		return ""
	}
	text := l.broken.Error()
	switch {
	case s.Odd != nil && w.fault == 0:
		return s.disagreement(rank, text)
	case w.fault == 0:
		return fmt.Sprintf("rank %d fails though all ranks are well: %s", rank, text)
	case strings.Contains(text, core.ErrProtocol.Error()), strings.Contains(text, core.ErrMismatch.Error()):
		return fmt.Sprintf("rank %d blames a rank that has done nothing wrong: %s", rank, text)
	case s.miscounts(w, rank):
		return fmt.Sprintf("rank %d says other numbers of messages than have come: %s", rank, text)
	case rank == int(w.fault)-1 || strings.Contains(text, fmt.Sprintf("rank %d", w.fault-1)):
		return ""
	}
	return fmt.Sprintf("rank %d fails and does not name rank %d, the cause: %s", rank, w.fault-1, text)
}

// miscounts reports whether the error of rank says other numbers of the messages of a lost rank than
// have come to the remaining ranks, which take no more of them after they have failed. Ranks that
// have closed may have got other numbers.
func (s *system) miscounts(w *world, rank int) bool {
	var lost *core.LostError
	if !errors.As(s.local(w, rank).broken, &lost) {
		return false
	}
	for _, dead := range lost.Ranks {
		least, most, all := ^uint64(0), uint64(0), true
		for other := range w.ranks {
			if l := s.local(w, other); slices.Contains(lost.Ranks, other) {
				continue
			} else if l.gone() {
				all = false
			} else {
				n := l.core.Came(dead)
				least, most = min(least, n), max(most, n)
			}
		}
		says := core.Came{Rank: dead}
		for _, c := range lost.Came {
			if c.Rank == dead {
				says = c
			}
		}
		if least < says.Least || most > says.Most || all && says != (core.Came{Rank: dead, Least: least, Most: most}) {
			return true
		}
	}
	return false
}

// disagreement returns the problem with an error of rank when one rank makes other calls than the
// others.
func (s *system) disagreement(rank int, text string) (problem string) {
	for _, good := range []error{core.ErrMismatch, core.ErrPeerLeft} {
		if strings.Contains(text, good.Error()) {
			return ""
		}
	}
	return fmt.Sprintf("rank %d fails and does not say that ranks make different calls: %s", rank, text)
}
