package seal

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
)

// Two sides with a key prove it to each other before either says anything else:
//
//	member  opening, which ends with its nonce
//	host    its nonce, and its proof
//	member  its proof
//
// A proof is the HMAC of the role and of everything that both have said, including both nonces, so
// it cannot be used twice, or in the other role.
const (
	// NonceLen is the length of a nonce, and ProofLen the length of a proof, in bytes.
	NonceLen = 32
	ProofLen = sha256.Size
)

// Handshake is the state of a handshake.
type Handshake struct {
	key        []byte
	mode       Mode
	transcript []byte
}

// NewNonce draws a nonce; the system's generator never fails.
func NewNonce() (n [NonceLen]byte) {
	rand.Read(n[:])
	return n
}

// NewHandshake begins a handshake: opening is the member's first message, host the host's nonce.
func NewHandshake(key []byte, mode Mode, opening []byte, host *[NonceLen]byte) *Handshake {
	return &Handshake{key: key, mode: mode, transcript: append(append([]byte(nil), opening...), host[:]...)}
}

// Role is a side of a handshake.
type Role string

// The roles.
const (
	Host   Role = "host"
	Member Role = "member"
)

// Proof returns the proof of a role.
func (h *Handshake) Proof(r Role) []byte {
	m := hmac.New(sha256.New, h.key)
	fmt.Fprintf(m, "schedgen %s proves", r)
	m.Write(h.transcript)
	return m.Sum(nil)
}

// Proven reports, in constant time, whether proof is the proof of a role.
func (h *Handshake) Proven(r Role, proof []byte) bool { return hmac.Equal(h.Proof(r), proof) }

// Lines returns the seals for the rest of the conversation, one for each role's direction. They
// always encrypt: the conversation is short, and it contains the seed of the session's keys.
func (h *Handshake) Lines() (host, member *Line, err error) {
	secret, err := hkdf.Extract(sha256.New, h.key, h.transcript)
	if err != nil {
		return nil, nil, fmt.Errorf("derive a handshake's keys: %w", err)
	}
	var lines [2]*Line
	for i, r := range []Role{Host, Member} {
		key, err := hkdf.Expand(sha256.New, secret, "schedgen "+string(r)+" speaks", keyLen)
		if err != nil {
			return nil, nil, fmt.Errorf("derive a handshake's keys: %w", err)
		}
		if lines[i], err = newLine(Encrypted, key); err != nil {
			return nil, nil, err
		}
	}
	return lines[0], lines[1], nil
}
