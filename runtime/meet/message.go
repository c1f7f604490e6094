package meet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/schedgen/schedgen/ir"
)

// The messages of ranks that meet have big-endian integers; a u16 length precedes text and blobs:
//
//	below  hello   opening, rank u32, size u32, job, door, address, blob
//	below  notes   kind u8 and its content (note.go)
//	above  table   status, communicator id [16], seed [32], address and blob of every rank
//	above  go      status
//
// Above and below are two ranks of the tree (tree.go). If a rank does not belong directly below
// rank 0, rank 0 answers its hello with a status and the door of the rank that it belongs below.
//
// auth.go describes the opening. With a key it is a conversation of its own, and everything after
// it is sealed. A status is a text: empty, or the reason why there is no communicator. Magic,
// version and statuses are the same in all versions, so that ranks of different versions can tell
// each other why they do not meet.
const (
	helloMagic = 0x5CED0001

	// Version is the version of all messages between ranks, here and afterwards: ranks of different
	// versions do not meet.
	Version = 12

	// MaxBlob is the greatest length of a rank's blob in bytes.
	MaxBlob = 4096
	// MaxJob is the greatest length of a job's name in bytes.
	MaxJob  = 256
	maxText = 1024 // greatest length of addresses and reasons
)

var errStranger = errors.New("not a member's hello")

// hello is what a rank says about itself.
type hello struct {
	rank, size int
	job        string
	door       string // where it waits for the ranks below it, as addr; empty if it has none
	addr       string // host:port; empty host: the rank above fills it in
	blob       []byte
}

func appendBytes[T string | []byte](b []byte, s T) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

// appendStatus cuts long reasons, which may quote peers, to the length that is read.
func appendStatus(b []byte, reason string) []byte {
	return appendBytes(b, reason[:min(len(reason), maxText)])
}

// appendHello appends what follows the opening.
func appendHello(b []byte, h *hello) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(h.rank))
	b = binary.BigEndian.AppendUint32(b, uint32(h.size))
	b = appendBytes(appendBytes(b, h.job), h.door)
	return appendBytes(appendBytes(b, h.addr), h.blob)
}

func appendTable(b []byte, t *Meeting) []byte {
	n := 2 + len(t.ID) + len(t.seed)
	for i := range t.Addrs {
		n += 2 + len(t.Addrs[i]) + 2 + len(t.Blobs[i])
	}
	b = append(append(appendStatus(slices.Grow(b, n), ""), t.ID[:]...), t.seed[:]...)
	for i := range t.Addrs {
		b = appendBytes(appendBytes(b, t.Addrs[i]), t.Blobs[i])
	}
	return b
}

func readBytes(r io.Reader, limit int) ([]byte, error) {
	var n [2]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint16(n[:]))
	if length > limit {
		return nil, &lengthError{length, limit}
	}
	b := make([]byte, length)
	_, err := io.ReadFull(r, b)
	return b, err
}

// lengthError is the error of a text that is too long.
type lengthError struct{ length, limit int }

func (e *lengthError) Error() string {
	return fmt.Sprintf("%d bytes where at most %d are allowed", e.length, e.limit)
}

// readStatus returns the peer's reason, or "" if all is well. People read it, and it may come from
// a stranger, so unprintable characters are replaced.
func readStatus(r io.Reader) (string, error) {
	b, err := readBytes(r, maxText)
	return strings.Map(plain, string(b)), err
}

func plain(r rune) rune {
	if !unicode.IsPrint(r) {
		return unicode.ReplacementChar
	}
	return r
}

// versionError is the hello of a member with another version.
type versionError struct{ version uint16 }

func (e *versionError) Error() string {
	return fmt.Sprintf("a rank speaks version %d of the rendezvous, the one that it has come to version %d", e.version, Version)
}

// jobError is the hello of a rank of another job.
type jobError struct {
	rank int
	job  string
	host int // the rank that it has reached
	want string
}

func (e *jobError) Error() string {
	return fmt.Sprintf("rank %d is of job %q, rank %d of job %q", e.rank, e.job, e.host, e.want)
}

// readHello reads what follows the opening.
func readHello(r io.Reader) (*hello, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", errStranger, err)
	}
	rank, size := binary.BigEndian.Uint32(head[0:]), binary.BigEndian.Uint32(head[4:])
	if size > ir.MaxRanks || rank >= size {
		return nil, fmt.Errorf("%w: rank %d of %d", errStranger, rank, size)
	}
	return readHelloRest(r, &hello{rank: int(rank), size: int(size)})
}

func readHelloRest(r io.Reader, h *hello) (*hello, error) {
	job, err := readBytes(r, MaxJob)
	var door, addr []byte
	if err == nil {
		door, err = readBytes(r, maxText)
	}
	if err == nil {
		addr, err = readBytes(r, maxText)
	}
	if err == nil {
		h.blob, err = readBytes(r, MaxBlob)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errStranger, err)
	}
	h.job, h.door, h.addr = string(job), string(door), string(addr)
	return h, nil
}

// readTable reads what follows the table's status.
func readTable(r io.Reader, size int) (*Meeting, error) {
	t := &Meeting{}
	if _, err := io.ReadFull(r, t.ID[:]); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(r, t.seed[:]); err != nil {
		return nil, err
	}
	for range size {
		addr, err := readBytes(r, maxText)
		if err != nil {
			return nil, err
		}
		blob, err := readBytes(r, MaxBlob)
		if err != nil {
			return nil, err
		}
		t.Addrs, t.Blobs = append(t.Addrs, string(addr)), append(t.Blobs, blob)
	}
	return t, nil
}
