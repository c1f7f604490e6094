package core

import (
	"errors"

	"github.com/schedgen/schedgen/runtime/wire"
)

// membership is who is there. Transports report what they see; what it means is
// decided here.
type membership struct {
	left     []departure // in the order of their goodbyes
	place    map[int]int // rank -> its place in left
	suspects []suspect   // in the order in which they became so
}

// departure is a rank that has closed in good order after operation last.
type departure struct {
	rank int
	last uint64
}

// suspect is a rank that cannot be connected to. It has a while to be heard of
// as having left in good order.
type suspect struct {
	rank  int
	err   error
	until Time // 0: from the next tick on
}

// suspicion is how long that while is.
const suspicion = Time(1e9)

// leave notes a goodbye. Of several the one counts that says the least: a transport
// that closes may not know after which operation.
func (m *membership) leave(rank int, last uint64) {
	if m.place == nil {
		m.place = make(map[int]int)
	}
	if !m.hasLeft(rank) {
		m.place[rank] = len(m.left)
		m.left = append(m.left, departure{rank, last})
	}
	m.departed(rank).last = min(m.departed(rank).last, last)
	m.clear(rank)
}

func (m *membership) hasLeft(rank int) bool {
	_, left := m.place[rank]
	return left
}

// departed returns the departure of a rank that has left.
func (m *membership) departed(rank int) *departure { return &m.left[m.place[rank]] }

// missing returns a rank that has left before operation seq.
func (m *membership) missing(seq uint64) (departure, bool) {
	for _, d := range m.left {
		if seq > d.last {
			return d, true
		}
	}
	return departure{}, false
}

// lose notes that a rank cannot be reached, and reports whether that is
// certain.
func (m *membership) lose(rank int, err error) bool {
	if !errors.Is(err, wire.ErrUnreachable) {
		return true
	}
	for _, s := range m.suspects {
		if s.rank == rank {
			return false
		}
	}
	m.suspects = append(m.suspects, suspect{rank: rank, err: err})
	return false
}

// clear ends the suspicion of a rank.
func (m *membership) clear(rank int) {
	for i, s := range m.suspects {
		if s.rank == rank {
			m.suspects = append(m.suspects[:i], m.suspects[i+1:]...)
			return
		}
	}
}

// overdue returns a suspect that has not been heard of in time.
func (m *membership) overdue(now Time) (suspect, bool) {
	for i := range m.suspects {
		s := &m.suspects[i]
		if s.until == 0 {
			s.until = now + suspicion
		}
	}
	for _, s := range m.suspects {
		if now >= s.until {
			m.clear(s.rank)
			return s, true
		}
	}
	return suspect{}, false
}

// due returns when overdue is to be asked again.
func (m *membership) due() Time {
	due := never
	for _, s := range m.suspects {
		due = min(due, s.until)
	}
	return due
}
