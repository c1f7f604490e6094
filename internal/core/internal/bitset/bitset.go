// Package bitset has sets of small numbers, which a core keeps in memory that it uses again.
package bitset

import "slices"

// Set is a set of numbers from 0 on: bit i%64 of word i/64 says whether i is in the set. Numbers
// beyond the last word are not in it. The zero Set is empty.
type Set []uint64

// Cleared returns an empty set with room for the numbers below n, in the memory of s if it is large
// enough.
func (s Set) Cleared(n int) Set {
	words := (n + 63) / 64
	if cap(s) < words {
		return make(Set, words)
	}
	s = s[:words]
	clear(s)
	return s
}

// Roomy returns s. If s has no words, Roomy returns an empty set with room for the numbers below n.
func (s Set) Roomy(n int) Set {
	if len(s) == 0 {
		return s.Cleared(n)
	}
	return s
}

// Has reports whether i is in s.
func (s Set) Has(i int) bool { return i/64 < len(s) && s[i/64]>>(i%64)&1 == 1 }

// Add adds i, for which s must have room.
func (s Set) Add(i int) { s[i/64] |= 1 << (i % 64) }

// With returns s with i, and with more words if i needs them.
func (s Set) With(i int) Set {
	for len(s) <= i/64 {
		s = append(s, 0)
	}
	s.Add(i)
	return s
}

// Remove removes i, and reports whether it was in s.
func (s Set) Remove(i int) bool {
	if !s.Has(i) {
		return false
	}
	s[i/64] &^= 1 << (i % 64)
	return true
}

// IsEmpty reports whether s has no number.
func (s Set) IsEmpty() bool {
	return !slices.ContainsFunc(s, func(word uint64) bool { return word != 0 })
}
