package presence

import (
	"cmp"
	"math"
	"slices"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
)

// Roster says which ranks are there. Transports report how connections end, and ranks say goodbye;
// the roster decides what both mean. A rank without an entry is there. The zero Roster has all
// ranks.
type Roster struct {
	absent []Absence // by rank, ascending
}

// Absence is the entry of a rank that has left, is lost, or may be lost.
type Absence struct {
	Rank   int
	State  State
	Last   uint64      // Left: last operation that it took part in, or Unknown
	Print  uint32      // Left: fingerprint of that operation there; 0: unknown
	Silent bool        // Lost: it has given no sign of life, and may still be alive
	Err    error       // Suspected: why
	Until  moment.Time // Suspected: when it is lost unless it is heard of; 0: set by Overdue
}

// State is the state of a rank that may not be there.
type State uint8

// The states of absent ranks.
const (
	Suspected State = iota // it takes no connections; it may have left in good order
	Left                   // in good order
	Lost
)

// Suspicion is how long the goodbye of a rank that takes no connections may take to arrive.
const Suspicion = moment.Time(1e9)

// Unknown is the last operation of a rank that has not named it.
const Unknown = math.MaxUint64

func (r *Roster) find(rank int) (at int, found bool) {
	return slices.BinarySearchFunc(r.absent, rank, func(a Absence, rank int) int { return cmp.Compare(a.Rank, rank) })
}

// set makes a the entry of its rank.
func (r *Roster) set(a Absence) {
	at, found := r.find(a.Rank)
	if !found {
		r.absent = slices.Insert(r.absent, at, a)
		return
	}
	r.absent[at] = a
}

// Of returns the entry of rank, or nil if the rank is there. It is valid until the roster changes.
func (r *Roster) Of(rank int) *Absence {
	if at, found := r.find(rank); found {
		return &r.absent[at]
	}
	return nil
}

// All returns the entries of all ranks, ascending. They are valid until the roster changes.
func (r *Roster) All() []Absence { return r.absent }

// Gone reports whether rank has left or is lost, so that it accepts nothing any more.
func (r *Roster) Gone(rank int) bool {
	a := r.Of(rank)
	return a != nil && a.State != Suspected
}

// Lost reports whether rank is lost.
func (r *Roster) Lost(rank int) bool {
	a := r.Of(rank)
	return a != nil && a.State == Lost
}

// Leave records that rank has left in good order after operation last, which has the given
// fingerprint there. If it is told several times, the lowest operation counts: the end of
// connections does not name one.
func (r *Roster) Leave(rank int, last uint64, fingerprint uint32) {
	switch a := r.Of(rank); {
	case a == nil || a.State == Suspected:
		r.set(Absence{Rank: rank, State: Left, Last: last, Print: fingerprint})
	case a.State == Left && last < a.Last:
		a.Last, a.Print = last, fingerprint
	}
}

// Suspect records that rank takes no connections.
func (r *Roster) Suspect(rank int, err error) {
	if r.Of(rank) == nil {
		r.set(Absence{Rank: rank, State: Suspected, Err: err})
	}
}

// Lose records that rank is lost, by silence or by the end of its connections.
func (r *Roster) Lose(rank int, silent bool) {
	r.set(Absence{Rank: rank, State: Lost, Silent: silent})
}

// Missing returns a rank that has left before operation seq.
func (r *Roster) Missing(seq uint64) (a Absence, ok bool) {
	for _, a := range r.absent {
		if a.State == Left && seq > a.Last {
			return a, true
		}
	}
	return Absence{}, false
}

// Parted returns a rank that left after operation seq with another fingerprint there.
func (r *Roster) Parted(seq uint64, fingerprint uint32) (a Absence, ok bool) {
	for _, a := range r.absent {
		if a.State == Left && a.Last == seq && a.Print != 0 && a.Print != fingerprint {
			return a, true
		}
	}
	return Absence{}, false
}

// Overdue returns a suspected rank whose goodbye has not arrived in time.
func (r *Roster) Overdue(now moment.Time) (a Absence, ok bool) {
	for i := range r.absent {
		if a := &r.absent[i]; a.State == Suspected && a.Until.Over(now, Suspicion) {
			return *a, true
		}
	}
	return Absence{}, false
}

// Suspects reports whether a rank is suspected.
func (r *Roster) Suspects() bool {
	return slices.ContainsFunc(r.absent, func(a Absence) bool { return a.State == Suspected })
}

// Children appends to dst the children of rank in the binomial tree of origin among size ranks. The
// children of a gone child replace it.
func (r *Roster) Children(dst []int, origin, rank, size int) []int {
	v := (rank - origin + size) % size
	for bit := 1; bit < size-v && v&bit == 0; bit <<= 1 {
		child := (rank + bit) % size
		if r.Gone(child) {
			dst = r.Children(dst, origin, child, size)
		} else {
			dst = append(dst, child)
		}
	}
	return dst
}
