package seal

import (
	"crypto/cipher"
	"encoding/binary"
	"fmt"
)

// PacketOver is how many bytes a sealed datagram has after its payload: the tag, and the sender's
// count, u64 big-endian.
const PacketOver = TagLen + 8

// Packets seals and opens datagrams. The nonce is the sender's rank and its count, so a rank must
// not seal two datagrams with one count. Every holder of the session can seal in the name of any
// rank: this keeps strangers out, but does not protect ranks of the job from each other. One
// goroutine at a time uses it. It does not allocate.
type Packets struct {
	aead  cipher.AEAD
	mode  Mode
	nonce [12]byte
}

// Packets returns the seal for a session's datagrams, or nil if nothing is sealed.
func (s *Session) Packets() (*Packets, error) {
	if s.mode == Plain {
		return nil, nil
	}
	key, err := s.derive("datagrams")
	if err != nil {
		return nil, fmt.Errorf("derive the key of datagrams: %w", err)
	}
	a, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	return &Packets{aead: a, mode: s.mode}, nil
}

func (p *Packets) set(from int, count uint64) []byte {
	binary.BigEndian.PutUint32(p.nonce[:], uint32(from))
	binary.BigEndian.PutUint64(p.nonce[4:], count)
	return p.nonce[:]
}

// Seal returns datagram b with tag and count appended. It does not encrypt the first head bytes.
func (p *Packets) Seal(b []byte, head, from int, count uint64) []byte {
	if p.mode == Encrypted {
		b = p.aead.Seal(b[:head], p.set(from, count), b[head:], b[:head])
	} else {
		b = p.aead.Seal(b, p.set(from, count), nil, b)
	}
	return binary.BigEndian.AppendUint64(b, count)
}

// Open checks datagram b, of at least head+PacketOver bytes. It returns b without tag and count,
// with the payload in place, and the count.
func (p *Packets) Open(b []byte, head, from int) (data []byte, count uint64, ok bool) {
	tagged, end := b[:len(b)-8], len(b)-PacketOver
	count = binary.BigEndian.Uint64(b[len(tagged):])
	var err error
	if p.mode == Encrypted {
		_, err = p.aead.Open(b[head:head], p.set(from, count), tagged[head:], b[:head])
	} else {
		_, err = p.aead.Open(nil, p.set(from, count), tagged[end:], b[:end])
	}
	return b[:end], count, err == nil
}
