package core

import (
	"cmp"
	"math"
	"slices"
)

// membership says which ranks are there. Transports report how connections end, and ranks say
// goodbye; membership decides what both mean. A rank without an entry is there.
type membership struct {
	absent []absence // by rank, ascending
}

// absence is a rank that has left, is lost, or may be lost.
type absence struct {
	rank   int
	state  absenceState
	last   uint64 // hasLeft: last operation that it took part in
	print  uint32 // hasLeft: fingerprint of that operation there; 0: unknown
	silent bool   // isLost: it has given no sign of life, and may still be alive
	err    error  // suspected: why
	until  Time   // suspected: when it is lost unless it is heard of; 0: set at the next tick
}

type absenceState uint8

const (
	suspected absenceState = iota // takes no connections; it may have left in good order
	hasLeft                       // in good order
	isLost
)

// suspicion is how long the goodbye of a rank that takes no connections may take to arrive.
const suspicion = Time(1e9)

// unknown is the last operation of a rank that has not named it.
const unknown = math.MaxUint64

func (m *membership) find(rank int) (at int, found bool) {
	return slices.BinarySearchFunc(m.absent, rank, func(a absence, rank int) int { return cmp.Compare(a.rank, rank) })
}

// set makes a the entry of its rank.
func (m *membership) set(a absence) {
	at, found := m.find(a.rank)
	if !found {
		m.absent = slices.Insert(m.absent, at, a)
		return
	}
	m.absent[at] = a
}

// of returns the entry of rank, or nil if the rank is there.
func (m *membership) of(rank int) *absence {
	if at, found := m.find(rank); found {
		return &m.absent[at]
	}
	return nil
}

// gone reports whether rank has left or is lost, so that it takes nothing any more.
func (m *membership) gone(rank int) bool {
	a := m.of(rank)
	return a != nil && a.state != suspected
}

// leave records that rank has left in good order after operation last, which has the given
// fingerprint there. If it is told several times, the lowest operation counts: the end of
// connections does not name one.
func (m *membership) leave(rank int, last uint64, fingerprint uint32) {
	switch a := m.of(rank); {
	case a == nil || a.state == suspected:
		m.set(absence{rank: rank, state: hasLeft, last: last, print: fingerprint})
	case a.state == hasLeft && last < a.last:
		a.last, a.print = last, fingerprint
	}
}

// suspect records that rank takes no connections.
func (m *membership) suspect(rank int, err error) {
	if m.of(rank) == nil {
		m.set(absence{rank: rank, state: suspected, err: err})
	}
}

// lose records that rank is lost, by silence or by the end of its connections.
func (m *membership) lose(rank int, silent bool) {
	m.set(absence{rank: rank, state: isLost, silent: silent})
}

// lost reports whether rank is lost.
func (m *membership) lost(rank int) bool {
	a := m.of(rank)
	return a != nil && a.state == isLost
}

// missing returns a rank that has left before operation seq.
func (m *membership) missing(seq uint64) (a absence, ok bool) {
	for _, a := range m.absent {
		if a.state == hasLeft && seq > a.last {
			return a, true
		}
	}
	return absence{}, false
}

// parted returns a rank that left after operation seq with another fingerprint there.
func (m *membership) parted(seq uint64, fingerprint uint32) (a absence, ok bool) {
	for _, a := range m.absent {
		if a.state == hasLeft && a.last == seq && a.print != 0 && a.print != fingerprint {
			return a, true
		}
	}
	return absence{}, false
}

// overdue returns a suspected rank whose goodbye has not arrived in time.
func (m *membership) overdue(now Time) (a absence, ok bool) {
	for i := range m.absent {
		a := &m.absent[i]
		if a.state != suspected {
			continue
		}
		if a.until == 0 {
			a.until = now + suspicion
		}
		if now >= a.until {
			return *a, true
		}
	}
	return absence{}, false
}

// suspects reports whether a rank is suspected.
func (m *membership) suspects() bool {
	return slices.ContainsFunc(m.absent, func(a absence) bool { return a.state == suspected })
}

// due returns when to call overdue again.
func (m *membership) due() Time {
	due := never
	for _, a := range m.absent {
		if a.state == suspected {
			due = min(due, a.until)
		}
	}
	return due
}

// below appends to dst the children of rank in the binomial tree of origin among size ranks. The
// children of a gone child replace it.
func (m *membership) below(dst []int, origin, rank, size int) []int {
	v := (rank - origin + size) % size
	for bit := 1; bit < size-v && v&bit == 0; bit <<= 1 {
		child := (rank + bit) % size
		if m.gone(child) {
			dst = m.below(dst, origin, child, size)
		} else {
			dst = append(dst, child)
		}
	}
	return dst
}
