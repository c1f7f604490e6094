package agree

import "slices"

// Set is a set of ranks, of the size that [NewSet] gave it.
type Set []uint64

// NewSet returns an empty set among size ranks.
func NewSet(size int) Set { return make(Set, words(size)) }

// words is the number of words of a set among size ranks.
func words(size int) int { return (size + 63) / 64 }

// Has reports whether rank is in s.
func (s Set) Has(rank int) bool { return s[rank/64]>>(rank%64)&1 != 0 }

// Add adds rank to s.
func (s Set) Add(rank int) { s[rank/64] |= 1 << (rank % 64) }

// Join adds other to s and reports whether s has grown.
func (s Set) Join(other Set) (grown bool) {
	for i, w := range other {
		grown = grown || w&^s[i] != 0
		s[i] |= w
	}
	return grown
}

// Exceeds reports whether s has a rank that other does not have.
func (s Set) Exceeds(other Set) bool {
	for i, w := range s {
		if w&^other[i] != 0 {
			return true
		}
	}
	return false
}

// cut removes the bits beyond the last of size ranks.
func (s Set) cut(size int) {
	if rest := size % 64; rest != 0 {
		s[len(s)-1] &= 1<<rest - 1
	}
}

// List returns the ranks of s, ascending.
func (s Set) List() (list []int) {
	for rank := range 64 * len(s) {
		if s.Has(rank) {
			list = append(list, rank)
		}
	}
	return list
}

// Losses is a set of lost ranks.
type Losses struct {
	Lost   Set
	Silent Set // the ranks of Lost that have given no sign of life, and may still be alive
}

// NewLosses returns the empty set among size ranks.
func NewLosses(size int) Losses { return Losses{NewSet(size), NewSet(size)} }

// Add adds a lost rank.
func (l Losses) Add(rank int, silent bool) {
	l.Lost.Add(rank)
	if silent {
		l.Silent.Add(rank)
	}
}

func (l Losses) join(other Losses) {
	l.Lost.Join(other.Lost)
	l.Silent.Join(other.Silent)
}

func (l Losses) clone() Losses { return Losses{slices.Clone(l.Lost), slices.Clone(l.Silent)} }
