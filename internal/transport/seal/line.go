package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
)

// A record is a piece of a connection's bytes, with big-endian integers:
//
//	length u32, that many bytes, tag [16]
//
// Records are numbered from 0 on. The number is the nonce, and is not sent, since a connection
// keeps its bytes in order. So a record that is replayed, left out, moved, cut or changed does not
// open.
const (
	RecordHead = 4
	// RecordMax is the greatest number of bytes between head and tag. One record is checked while
	// the next is sealed, and both stay in the processor's cache: with 64 KiB, large frames took
	// 1.2 times as long.
	RecordMax = 32 << 10
	// RecordOver is how many bytes a record adds.
	RecordOver = RecordHead + TagLen
)

// ErrForged says that bytes were not sent by a holder of the key, or not at this place.
var ErrForged = errors.New("not sealed with the key")

// Line seals or opens the bytes of one direction of a connection. One goroutine at a time uses it.
// It does not allocate.
type Line struct {
	aead  cipher.AEAD
	mode  Mode
	count uint64 // records so far
	nonce [12]byte
	over  bool // a record was invalid: nothing is opened any more
}

func newLine(mode Mode, key []byte) (*Line, error) {
	a, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	return &Line{aead: a, mode: mode}, nil
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make a cipher: %w", err)
	}
	a, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("make a cipher: %w", err)
	}
	return a, nil
}

// Lines returns the two directions of a connection: from the side that opened it, and back. No two
// connections of a session may have the same numbers. The lines are nil if nothing is sealed.
func (s *Session) Lines(from, to, lane int, turn uint64) (there, back *Line, err error) {
	if s.mode == Plain {
		return nil, nil, nil
	}
	var lines [2]*Line
	for way := range lines {
		key, err := s.derive("line", uint64(way), uint64(from), uint64(to), uint64(lane), turn)
		if err != nil {
			return nil, nil, fmt.Errorf("derive a connection's key: %w", err)
		}
		if lines[way], err = newLine(s.mode, key); err != nil {
			return nil, nil, err
		}
	}
	return lines[0], lines[1], nil
}

// step returns the nonce of the next record.
func (l *Line) step() []byte {
	binary.BigEndian.PutUint64(l.nonce[4:], l.count)
	l.count++
	return l.nonce[:]
}

// Seal makes a record of b and returns it with its tag appended. The first RecordHead bytes of b
// are room for the head; at most RecordMax bytes may follow.
func (l *Line) Seal(b []byte) []byte {
	binary.BigEndian.PutUint32(b, uint32(len(b)-RecordHead))
	if l.mode == Encrypted {
		return l.aead.Seal(b[:RecordHead], l.step(), b[RecordHead:], b[:RecordHead])
	}
	return l.aead.Seal(b, l.step(), nil, b)
}

// RecordLen returns the length of the record at the start of b, or 0 if b is too short. The length
// is not authentic before the record is opened.
func RecordLen(b []byte) (int, error) {
	if len(b) < RecordHead {
		return 0, nil
	}
	n := binary.BigEndian.Uint32(b)
	if n == 0 || n > RecordMax {
		return 0, fmt.Errorf("%w: a record of %d bytes", ErrForged, n)
	}
	return RecordOver + int(n), nil
}

// Open checks record b, which must be whole as RecordLen says, and returns its bytes, in place.
// After an invalid record it opens nothing, since there would be a gap.
func (l *Line) Open(b []byte) ([]byte, error) {
	if l.over {
		return nil, ErrForged
	}
	end := len(b) - TagLen
	var err error
	if l.mode == Encrypted {
		_, err = l.aead.Open(b[RecordHead:RecordHead], l.step(), b[RecordHead:], b[:RecordHead])
	} else {
		_, err = l.aead.Open(nil, l.step(), b[end:], b[:end])
	}
	if err != nil {
		l.over = true
		return nil, ErrForged
	}
	return b[RecordHead:end], nil
}
