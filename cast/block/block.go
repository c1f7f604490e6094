// Package block numbers the blocks of what is cast, and says which of them a host lacks.
//
// A file is cut into blocks of Len bytes, of which the last may be shorter. The blocks of all files
// of a tree are numbered from 0, in the order in which the files are sent; an empty file has none.
package block

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

const (
	// Len is the length of a block, in bytes.
	Len = 1 << 20
	// PrintLen is the length of a print, in bytes.
	PrintLen = 16
	// Most is how many blocks a set tells apart: those of 128 TiB in large files. All behind them
	// are lacked.
	Most = 1 << 27
	// maxText is the longest text of a set, in bytes. What would be longer says that all blocks are
	// lacked.
	maxText = 1 << 20
)

// Print tells a block from others: the first half of its SHA-256. Nobody finds a block with the
// print of a given one in fewer than 2^127 attempts or so. Who makes both may find two in 2^64:
// then a file comes out wrong, which its whole SHA-256 shows.
type Print [PrintLen]byte

// PrintOf returns the print of a block.
func PrintOf(b []byte) Print {
	sum := sha256.Sum256(b)
	return Print(sum[:PrintLen])
}

// Count returns how many blocks a file of so many bytes has.
func Count(size int64) int64 {
	n := size / Len
	if size%Len > 0 {
		n++
	}
	return n
}

// Set is which blocks a host lacks: of those that it knows of some, and all others. A nil *Set is
// that of a host that lacks all.
type Set struct {
	have []uint64 // a bit for each block that is there
	n    int64    // blocks that are known of
}

// Append takes note of the next block. Those behind Most are lacked.
func (s *Set) Append(lacked bool) {
	if s.n == Most {
		return
	}
	if s.n%64 == 0 {
		s.have = append(s.have, 0)
	}
	if !lacked {
		s.have[s.n/64] |= 1 << (s.n % 64)
	}
	s.n++
}

// Truncate forgets all blocks but the first n.
func (s *Set) Truncate(n int64) {
	if n >= s.n {
		return
	}
	s.n, s.have = n, s.have[:(n+63)/64]
	if n%64 > 0 {
		s.have[len(s.have)-1] &= 1<<(n%64) - 1
	}
}

// Lacks reports whether a block is lacked.
func (s *Set) Lacks(block int64) bool {
	return s == nil || block < 0 || block >= s.n || s.have[block/64]>>(block%64)&1 == 0
}

// Len returns how many blocks are known of.
func (s *Set) Len() int64 {
	if s == nil {
		return 0
	}
	return s.n
}

// Lacked returns how many of the first n blocks are lacked.
func (s *Set) Lacked(n int64) int64 {
	if s == nil {
		return n
	}
	lacked := n
	for i, word := range s.have {
		if left := n - int64(i)*64; left < 64 {
			word &= 1<<max(left, 0) - 1
		}
		lacked -= int64(bits.OnesCount64(word))
	}
	return lacked
}

// Union returns which blocks one of two hosts lacks.
func Union(a, b *Set) *Set {
	if a == nil || b == nil {
		return nil
	}
	u := &Set{n: min(a.n, b.n)}
	u.have = make([]uint64, (u.n+63)/64)
	for i := range u.have {
		u.have[i] = a.have[i] & b.have[i]
	}
	if u.n%64 > 0 {
		u.have[len(u.have)-1] &= 1<<(u.n%64) - 1
	}
	return u
}

// Text spells a set: the lengths of runs of blocks that are lacked and that are not, in turn, as
// varints. There is one text of each set, and the empty text is that of nil.
func (s *Set) Text() []byte {
	var b []byte
	if s == nil {
		return b
	}
	lacked, run := true, uint64(0)
	for i := range s.n {
		if s.Lacks(i) != lacked {
			b = binary.AppendUvarint(b, run)
			lacked, run = !lacked, 0
		}
		if run++; len(b) > maxText {
			return nil
		}
	}
	return binary.AppendUvarint(b, run)
}

// ErrText is what a text that is none of a set wraps.
var ErrText = errors.New("not a set of blocks")

// Parse reads what Text has spelt, and nothing else.
func Parse(text []byte) (*Set, error) {
	if len(text) == 0 {
		return nil, nil
	}
	if len(text) > maxText+binary.MaxVarintLen64 {
		return nil, fmt.Errorf("%w: %d bytes", ErrText, len(text))
	}
	s, lacked := new(Set), true
	for at := 0; at < len(text); lacked = !lacked {
		run, n := binary.Uvarint(text[at:])
		switch {
		case n <= 0 || n > 1 && text[at+n-1] == 0:
			return nil, fmt.Errorf("%w: no number at byte %d", ErrText, at)
		case run > uint64(Most-s.n):
			return nil, fmt.Errorf("%w: more than %d blocks", ErrText, Most)
		case run == 0 && (at > 0 || n == len(text)) && len(text) > 1:
			return nil, fmt.Errorf("%w: an empty run at byte %d", ErrText, at)
		}
		s.extend(int64(run), lacked)
		at += n
	}
	return s, nil
}

// extend appends so many blocks.
func (s *Set) extend(n int64, lacked bool) {
	for ; n > 0 && s.n%64 > 0; n-- {
		s.Append(lacked)
	}
	word := uint64(0)
	if !lacked {
		word--
	}
	for ; n >= 64; n -= 64 {
		s.have = append(s.have, word)
		s.n += 64
	}
	for ; n > 0; n-- {
		s.Append(lacked)
	}
}
