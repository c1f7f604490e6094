// Package seal is the cryptography of transports: what proves to a rank that
// another one has the same key, and what seals all that they say to each other
// afterwards. It does no input or output.
//
// The primitives are HMAC-SHA256 (RFC 2104) for proofs, HKDF-SHA256 (RFC 5869) for
// keys, and AES-256-GCM (NIST SP 800-38D) for what is sent: with an empty plaintext
// where it is only authenticated, which is GMAC.
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
	// MinKey and MaxKey are the bytes of the shortest and of the longest key. The
	// shortest may be 128 random bits in hexadecimal digits.
	MinKey = 32
	MaxKey = 4096

	// TagLen is the width of what proves that bytes are authentic.
	TagLen = 16
	// SeedLen is the width of the random bytes that make one session's keys unlike
	// those of any other.
	SeedLen = 32

	keyLen = 32 // of AES-256
)

// Mode is how much is kept from strangers.
type Mode uint8

// The modes.
const (
	Plain     Mode = iota // there is no key
	Signed                // what is sent is authenticated
	Encrypted             // and confidential
	modes
)

// ModeOf returns what a configuration asks for, and checks the key's length.
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

// String says it in words.
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

// Session is what ranks that have met share: the root of all keys of one transport.
type Session struct {
	mode   Mode
	secret []byte // what all keys are derived from
	greets []byte // the key of greetings
}

// NewSession derives what ranks share from their key, which is empty in mode Plain,
// from a seed that one of them has drawn for this session alone, and from what they
// all know: the session's identity, and the name of the job.
//
// Without a key the seed is all the secret that there is: who was not told it when the
// ranks met cannot prove anything.
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

// Mode returns how much is kept from strangers.
func (s *Session) Mode() Mode { return s.mode }

// Prove returns what only who shares the session can say about a greeting, and Proven
// checks.
func (s *Session) Prove(what []byte) (tag [TagLen]byte) {
	h := hmac.New(sha256.New, s.greets)
	h.Write(what)
	return [TagLen]byte(h.Sum(nil))
}

// Proven reports whether tag is what Prove returns. It takes the same time whatever
// tag is.
func (s *Session) Proven(what, tag []byte) bool {
	want := s.Prove(what)
	return hmac.Equal(want[:], tag)
}

// derive returns a key for one use, which label and numbers name.
func (s *Session) derive(label string, numbers ...uint64) ([]byte, error) {
	info := []byte("schedgen " + label)
	for _, n := range numbers {
		info = binary.BigEndian.AppendUint64(info, n)
	}
	return hkdf.Expand(sha256.New, s.secret, string(info), keyLen)
}
