package contact

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/schedgen/schedgen/internal/transport/seal"
	"github.com/schedgen/schedgen/internal/version"
)

// A guest's first message to its host is its opening: magic u32, version u16, the build of its
// program (text), and the protection that it wants u8 ([seal.Mode]). With a key, both sides prove it
// before anything else ([seal.Handshake]):
//
//	guest  opening, its nonce [32]
//	host   status, its nonce [32], its proof [32]
//	guest  its proof [32]
//
// and seal the rest. A status with an error is not authentic. Magic, version, the build from version
// 17 on, and statuses are the same in all versions, so that processes of different versions can tell
// each other why they do not meet.
const (
	openingMagic = 0x5CED0001
	firstBuild   = 17 // the first version whose openings have a build

	// Version is the version of all messages between ranks, while they meet and afterwards: ranks
	// of different versions do not meet.
	Version = 18
)

// MaxJob is the greatest length of a job's name in bytes.
const MaxJob = 256

// Credentials are the key that a process must prove, and the protection of its messages.
type Credentials struct {
	Key  []byte // empty: none
	Mode seal.Mode
}

// NewCredentials checks the length of the key, which may be empty. Encryption needs one.
func NewCredentials(key []byte, encrypt bool) (Credentials, error) {
	m, err := seal.ModeOf(key, encrypt)
	return Credentials{key, m}, err
}

// ErrStranger is the error of a connection that does not speak the protocol. It gets no answer.
var ErrStranger = errors.New("not a member's hello")

// errLeft is the reason of a connection that has hung up before it has said anything, such as one
// that tries whether the port answers. Nobody has refused it.
var errLeft = errors.New("it has hung up")

// ErrUnheard is the error of a host that has hung up before it has said anything. It may have made
// room for others, or be restarting.
var ErrUnheard = errors.New("it hung up")

// AppendOpening appends a guest's first message.
func AppendOpening(b []byte, m seal.Mode) []byte {
	b = binary.BigEndian.AppendUint32(b, openingMagic)
	b = binary.BigEndian.AppendUint16(b, Version)
	return append(AppendBytes(b, build()), byte(m))
}

// maxBuild is the greatest length of the text of a build in bytes.
const maxBuild = 256

// build names this program and its build, as in "solver v1.2.0, go1.26".
var build = sync.OnceValue(func() string {
	line := version.Line(filepath.Base(os.Args[0]), version.Build())
	return line[:min(len(line), maxBuild)]
})

// IsOpening reports whether a connection that begins with b is for ranks that meet or for a lobby.
func IsOpening(b []byte) bool {
	return len(b) >= 4 && binary.BigEndian.Uint32(b) == openingMagic
}

// readOpening returns a guest's opening, and the protection that it wants, which is the last byte.
func readOpening(r io.Reader) (opening []byte, m seal.Mode, err error) {
	b := make([]byte, 6, 6+2+maxBuild+1)
	if n, err := io.ReadFull(r, b); err != nil {
		if n == 0 && !errors.Is(err, os.ErrDeadlineExceeded) {
			err = errLeft
		}
		return nil, 0, fmt.Errorf("%w: %w", ErrStranger, err)
	}
	if m := binary.BigEndian.Uint32(b); m != openingMagic {
		return nil, 0, fmt.Errorf("%w: it begins with %x", ErrStranger, b[:4])
	}
	v := binary.BigEndian.Uint16(b[4:])
	if v < firstBuild {
		return nil, 0, &VersionError{v, ""}
	}
	its, err := ReadBytes(r, maxBuild)
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("%w: %w", ErrStranger, err)
	case v != Version:
		return nil, 0, &VersionError{v, Printable(its)}
	}
	var mode [1]byte
	if _, err := io.ReadFull(r, mode[:]); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrStranger, err)
	}
	return append(AppendBytes(b, its), mode[0]), seal.Mode(mode[0]), nil
}

// ModeError is the error of a guest with a key at a host without one, or the reverse.
type ModeError struct{ its, host seal.Mode }

func (e *ModeError) Error() string {
	return fmt.Sprintf("a rank has %v, but the process that it connects to has %v", e.its, e.host)
}

// Keyless reports whether the guest is the one without a key.
func (e *ModeError) Keyless() bool { return e.its == seal.Plain }

// VersionError is the error of a guest that speaks another version.
type VersionError struct {
	version uint16
	build   string // of its program; "" if it does not say
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("a rank speaks version %d on the wire (%s), but the process that it connects to speaks version %d (%s)",
		e.version, cmp.Or(e.build, "an older program"), Version, build())
}

// ErrKey says that the other side has not proved the key.
var ErrKey = errors.New("not the same key")

// Admit makes the guest at the other end of conn prove the key, and returns the connection for the
// conversation. Before that it stores only the guest's opening and nonce.
func (c *Credentials) Admit(conn net.Conn) (net.Conn, error) {
	var theirs [seal.NonceLen]byte
	opening, m, err := readOpening(conn)
	if err == nil && m != seal.Plain {
		if _, err = io.ReadFull(conn, theirs[:]); err != nil {
			err = fmt.Errorf("%w: %w", ErrStranger, err)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case m != c.Mode:
		return nil, &ModeError{m, c.Mode}
	case m == seal.Plain:
		return conn, nil
	}
	own := seal.NewNonce()
	h := seal.NewHandshake(c.Key, m, append(opening, theirs[:]...), &own)
	if _, err := conn.Write(append(append(AppendStatus(nil, ""), own[:]...), h.Proof(seal.Host)...)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStranger, err)
	}
	var proof [seal.ProofLen]byte
	if _, err := io.ReadFull(conn, proof[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStranger, err)
	}
	if !h.Proven(seal.Member, proof[:]) {
		return nil, fmt.Errorf("%w: %w", ErrStranger, ErrKey)
	}
	host, member, err := h.Lines()
	if err != nil {
		return nil, err
	}
	return seal.NewConn(conn, member, host), nil
}

// Introduce proves the key to the host at the other end of conn, which errors call host, and makes
// the host prove it. A guest with another key still sends its proof, so that the host can tell that
// it has a key.
func (c *Credentials) Introduce(conn net.Conn, host string) (net.Conn, error) {
	opening := AppendOpening(nil, c.Mode)
	own := seal.NewNonce()
	if c.Mode != seal.Plain {
		opening = append(opening, own[:]...)
	}
	if _, err := conn.Write(opening); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnheard, err)
	}
	if c.Mode == seal.Plain {
		return conn, nil
	}
	why, err := ReadStatus(conn)
	var answer [seal.NonceLen + seal.ProofLen]byte
	if err == nil && why == "" {
		_, err = io.ReadFull(conn, answer[:])
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w before it has proved the key: %w", ErrUnheard, err)
	case why != "":
		return nil, &FinalError{fmt.Errorf("%s, which has not proved the key, says: %s", host, why)}
	}
	h := seal.NewHandshake(c.Key, c.Mode, opening, (*[seal.NonceLen]byte)(answer[:]))
	_, err = conn.Write(h.Proof(seal.Member))
	switch {
	case !h.Proven(seal.Host, answer[seal.NonceLen:]):
		return nil, &FinalError{fmt.Errorf("%s has %w", host, ErrKey)}
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnheard, err)
	}
	in, out, err := h.Lines()
	if err != nil {
		return nil, err
	}
	return seal.NewConn(conn, in, out), nil
}
