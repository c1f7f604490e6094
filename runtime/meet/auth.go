package meet

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/schedgen/schedgen/runtime/internal/seal"
)

// A rank's first message to a rank above it, or to rank 0 when it asks the way, is its opening:
// magic u32, version u16, the protection that it wants u8 ([seal.Mode]). With a key, both sides
// prove it before anything else ([seal.Handshake]):
//
//	below  opening, its nonce [32]
//	above  status, its nonce [32], its proof [32]
//	below  its proof [32]
//
// and seal the rest. A status with an error is not authentic.
const openingLen = 4 + 2 + 1

func appendOpening(b []byte, m seal.Mode) []byte {
	b = binary.BigEndian.AppendUint32(b, helloMagic)
	b = binary.BigEndian.AppendUint16(b, Version)
	return append(b, byte(m))
}

// IsOpening reports whether a connection that begins with b is for ranks that meet or for a lobby.
func IsOpening(b []byte) bool {
	return len(b) >= 4 && binary.BigEndian.Uint32(b) == helloMagic
}

// readOpening returns the protection that a rank wants.
func readOpening(r io.Reader) (seal.Mode, error) {
	var b [openingLen]byte
	if _, err := io.ReadFull(r, b[:6]); err != nil {
		return 0, fmt.Errorf("%w: %w", errStranger, err)
	}
	if m := binary.BigEndian.Uint32(b[0:]); m != helloMagic {
		return 0, fmt.Errorf("%w: it begins with %x", errStranger, b[:4])
	}
	if v := binary.BigEndian.Uint16(b[4:]); v != Version {
		return 0, &versionError{v}
	}
	if _, err := io.ReadFull(r, b[6:]); err != nil {
		return 0, fmt.Errorf("%w: %w", errStranger, err)
	}
	return seal.Mode(b[6]), nil
}

// modeError is the opening of a rank with a key at a rank without one, or the reverse.
type modeError struct{ its, host seal.Mode }

func (e *modeError) Error() string {
	return fmt.Sprintf("a rank has %v, the one that it has come to has %v", e.its, e.host)
}

// errKey: the other side has not proved the key.
var errKey = errors.New("not the same key")

// admitted makes a guest prove the key, and returns the connection for the conversation. Before
// that it stores only the guest's nonce.
func admitted(cfg *Config, conn net.Conn) (net.Conn, error) {
	var theirs [seal.NonceLen]byte
	m, err := readOpening(conn)
	if err == nil && m != seal.Plain {
		if _, err = io.ReadFull(conn, theirs[:]); err != nil {
			err = fmt.Errorf("%w: %w", errStranger, err)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case m != cfg.mode:
		return nil, &modeError{m, cfg.mode}
	case m == seal.Plain:
		return conn, nil
	}
	own := seal.NewNonce()
	h := seal.NewHandshake(cfg.Key, m, append(appendOpening(nil, m), theirs[:]...), &own)
	if _, err := conn.Write(append(append(appendStatus(nil, ""), own[:]...), h.Proof(seal.Host)...)); err != nil {
		return nil, fmt.Errorf("%w: %w", errStranger, err)
	}
	var proof [seal.ProofLen]byte
	if _, err := io.ReadFull(conn, proof[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", errStranger, err)
	}
	if !h.Proven(seal.Member, proof[:]) {
		return nil, fmt.Errorf("%w: %w", errStranger, errKey)
	}
	host, member, err := h.Lines()
	if err != nil {
		return nil, err
	}
	return seal.NewConn(conn, member, host), nil
}

// introduced proves the key to the rank at the other end of conn, and makes that rank prove it. A
// rank with another key still sends its proof, so that the other side can tell that it has a key.
func introduced(cfg *Config, conn net.Conn, who string) (net.Conn, error) {
	opening := appendOpening(nil, cfg.mode)
	own := seal.NewNonce()
	if cfg.mode != seal.Plain {
		opening = append(opening, own[:]...)
	}
	if _, err := conn.Write(opening); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnheard, err)
	}
	if cfg.mode == seal.Plain {
		return conn, nil
	}
	why, err := readStatus(conn)
	var answer [seal.NonceLen + seal.ProofLen]byte
	if err == nil && why == "" {
		_, err = io.ReadFull(conn, answer[:])
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w before it has proved the key: %w", errUnheard, err)
	case why != "":
		return nil, &brokenError{fmt.Errorf("%s, which has not proved the key, says: %s", who, why)}
	}
	h := seal.NewHandshake(cfg.Key, cfg.mode, opening, (*[seal.NonceLen]byte)(answer[:]))
	_, err = conn.Write(h.Proof(seal.Member))
	switch {
	case !h.Proven(seal.Host, answer[seal.NonceLen:]):
		return nil, &brokenError{fmt.Errorf("%s has %w", who, errKey)}
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errUnheard, err)
	}
	host, member, err := h.Lines()
	if err != nil {
		return nil, err
	}
	return seal.NewConn(conn, host, member), nil
}

// drawSeed draws the seed of the session's keys. It does so for every table, when all its ranks
// have arrived. A process that comes later in place of one of them does not get this seed, and so
// never seals anything with keys that were used before.
func drawSeed(m *Meeting) { rand.Read(m.seed[:]) }

// share derives the session of the ranks.
func share(cfg *Config, m *Meeting) (err error) {
	m.Session, err = seal.NewSession(cfg.mode, cfg.Key, &m.seed, m.ID, cfg.Job)
	return err
}
