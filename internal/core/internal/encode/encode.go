// Package encode writes the states of a core and of its parts in a form that can be read in only
// one way: equal bytes mean equal states.
package encode

import (
	"encoding/binary"

	"github.com/schedgen/schedgen/internal/core/internal/bitset"
)

// Buffer is a state under construction: numbers, and values prefixed by their lengths.
type Buffer struct{ B []byte }

// Num appends a number.
func (s *Buffer) Num(n int) { s.B = binary.AppendVarint(s.B, int64(n)) }

// U64 appends a number that is not negative.
func (s *Buffer) U64(n uint64) { s.B = binary.AppendUvarint(s.B, n) }

// Text appends a text.
func (s *Buffer) Text(t string) { s.Num(len(t)); s.B = append(s.B, t...) }

// Bytes appends bytes.
func (s *Buffer) Bytes(p []byte) { s.Num(len(p)); s.B = append(s.B, p...) }

// Words appends words, such as the words of a bit set.
func (s *Buffer) Words(w []uint64) {
	s.Num(len(w))
	for _, x := range w {
		s.U64(x)
	}
}

// Set appends a set. Empty sets are equal, whatever their number of words.
func (s *Buffer) Set(set bitset.Set) {
	if set.IsEmpty() {
		set = nil
	}
	s.Words(set)
}

// Nums appends numbers.
func (s *Buffer) Nums(list []int) {
	s.Num(len(list))
	for _, n := range list {
		s.Num(n)
	}
}

// Flags appends up to eight flags in a byte.
func (s *Buffer) Flags(bits ...bool) {
	var b byte
	for i, bit := range bits {
		if bit {
			b |= 1 << i
		}
	}
	s.B = append(s.B, b)
}
