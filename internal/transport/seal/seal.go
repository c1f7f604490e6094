// Package seal is the cryptography of transports: it proves to a rank that another rank has the
// same key, and seals all their later traffic. It does no input or output.
//
// The primitives are HMAC-SHA256 (RFC 2104) for proofs, HKDF-SHA256 (RFC 5869) for keys, and
// AES-256-GCM (NIST SP 800-38D) for traffic. Traffic that is only authenticated uses GCM with an
// empty plaintext, which is GMAC.
package seal

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	// MinKey and MaxKey are the least and the greatest length of a key in bytes. The shortest key
	// may be 128 random bits in hexadecimal digits.
	MinKey = 32
	MaxKey = 4096

	// TagLen is the length of an authentication tag in bytes.
	TagLen = 16
	// SeedLen is the length of the random seed that makes the keys of each session different.
	SeedLen = 32

	keyLen = 32 // of AES-256
)

// Mode says how traffic is protected from strangers.
type Mode uint8

// The modes.
const (
	Plain     Mode = iota // no key
	Signed                // traffic is authenticated
	Encrypted             // and encrypted
	modes
)

// ModeOf returns the mode of a configuration, and checks the key's length.
func ModeOf(key []byte, encrypt bool) (Mode, error) {
	switch {
	case len(key) == 0 && encrypt:
		return Plain, errors.New("encryption needs a key")
	case len(key) == 0:
		return Plain, nil
	case len(key) < MinKey || len(key) > MaxKey:
		return Plain, fmt.Errorf("a key of %d bytes: it must have %d to %d", len(key), MinKey, MaxKey)
	case encrypt:
		return Encrypted, nil
	}
	return Signed, nil
}

// Sealed says how traffic is protected, in one word: see wire.Caps.
func (m Mode) Sealed() string {
	switch m {
	case Signed:
		return "signed"
	case Encrypted:
		return "encrypted"
	}
	return "no"
}

// String describes the mode.
func (m Mode) String() string {
	switch m {
	case Plain:
		return "no key"
	case Signed:
		return "a key"
	case Encrypted:
		return "a key, and encryption"
	}
	return fmt.Sprintf("mode %d", uint8(m))
}

// Session is the shared secret of ranks that have met: the root of all keys of one transport.
type Session struct {
	mode   Mode
	secret []byte // root of all derived keys
	greets []byte // key of greetings
}

// NewSession derives a session from the ranks' key, which is empty in mode Plain, a seed that one
// rank has drawn for this session, the session's identity, and the name of the job.
//
// Without a key, the seed is the only secret: a process that was not told it when the ranks met
// cannot prove anything.
func NewSession(mode Mode, key []byte, seed *[SeedLen]byte, id [16]byte, job string) (*Session, error) {
	material := append(append([]byte{byte(mode)}, seed[:]...), key...)
	secret, err := hkdf.Extract(sha256.New, material, id[:])
	if err != nil {
		return nil, fmt.Errorf("derive the session's secret: %w", err)
	}
	secret, err = hkdf.Expand(sha256.New, secret, "schedgen session "+job, keyLen)
	if err != nil {
		return nil, fmt.Errorf("derive the session's secret: %w", err)
	}
	s := &Session{mode: mode, secret: secret}
	if s.greets, err = s.derive("greetings"); err != nil {
		return nil, fmt.Errorf("derive the key of greetings: %w", err)
	}
	return s, nil
}

// Mode returns how traffic is protected.
func (s *Session) Mode() Mode { return s.mode }

// Prove returns the tag of a greeting, which only holders of the session can compute. Proven checks
// it.
func (s *Session) Prove(what []byte) (tag [TagLen]byte) {
	h := hmac.New(sha256.New, s.greets)
	h.Write(what)
	return [TagLen]byte(h.Sum(nil))
}

// Proven reports whether tag is the result of Prove. It takes constant time.
func (s *Session) Proven(what, tag []byte) bool {
	want := s.Prove(what)
	return hmac.Equal(want[:], tag)
}

// derive returns a key for one use, identified by label and numbers.
func (s *Session) derive(label string, numbers ...uint64) ([]byte, error) {
	info := []byte("schedgen " + label)
	for _, n := range numbers {
		info = binary.BigEndian.AppendUint64(info, n)
	}
	return hkdf.Expand(sha256.New, s.secret, string(info), keyLen)
}
