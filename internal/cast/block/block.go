// Package block numbers the blocks of files, and holds sets of the blocks that a host lacks.
//
// A file consists of blocks of Len bytes; its last block may be shorter. The blocks of all files of
// a tree are numbered from 0, in the order in which the files are sent. An empty file has no block.
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
	// Most is the number of blocks that a set can hold, which is 128 TiB of large files. Blocks
	// from number Most on count as lacked.
	Most = 1 << 27
	// maxText is the greatest length of a set's text, in bytes. A set with a longer text is sent as
	// the set that lacks all blocks.
	maxText = 1 << 20
)

// Print identifies a block by the first half of its SHA-256. To find a block with the print of a
// given block takes about 2^127 attempts. To make two blocks with the same print takes about 2^64.
// A file received with the wrong one fails the check of its whole SHA-256.
type Print [PrintLen]byte

// PrintOf returns the print of a block.
func PrintOf(b []byte) Print {
	sum := sha256.Sum256(b)
	return Print(sum[:PrintLen])
}

// Count returns the number of blocks in a file of size bytes.
func Count(size int64) int64 {
	n := size / Len
	if size%Len > 0 {
		n++
	}
	return n
}

// Set holds the blocks that a host lacks. Each of its Len blocks is present or lacked, and all
// later blocks are lacked. A nil *Set lacks all blocks.
type Set struct {
	have []uint64 // one bit for each block; 1: the host has it
	n    int64    // number of blocks; see Len
}

// Append adds the next block. It ignores blocks from number Most on.
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

// Truncate removes all blocks after the first n.
func (s *Set) Truncate(n int64) {
	if n >= s.n {
		return
	}
	s.n, s.have = n, s.have[:(n+63)/64]
	if n%64 > 0 {
		s.have[len(s.have)-1] &= 1<<(n%64) - 1
	}
}

// Lacks reports whether the host lacks a block.
func (s *Set) Lacks(block int64) bool {
	return s == nil || block < 0 || block >= s.n || s.have[block/64]>>(block%64)&1 == 0
}

// Len returns the number of blocks that were added to s, which is 0 for a nil s.
func (s *Set) Len() int64 {
	if s == nil {
		return 0
	}
	return s.n
}

// Lacked returns how many of the first n blocks the host lacks.
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

// Union returns the blocks that at least one of two hosts lacks.
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

// Text returns the encoding of s: the lengths of runs of blocks, as varints. Runs of lacked blocks
// and of present blocks alternate, beginning with lacked ones. A set has exactly one text. The text
// of nil is empty, and so is the text of a set that would need more than 1 MiB: both say that all
// blocks are lacked.
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

// ErrText is wrapped by the errors of Parse.
var ErrText = errors.New("not a set of blocks")

// Parse returns the set whose Text is text. For any other text it returns an error that wraps
// ErrText.
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

// extend appends n blocks.
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
