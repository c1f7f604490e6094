package meet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/schedgen/schedgen/internal/meet/internal/contact"
	"github.com/schedgen/schedgen/ir"
)

// The messages between a parent and its child in the tree (tree.go) have big-endian integers; a u16
// length precedes text and blobs:
//
//	child   hello    opening, rank u32, size u32, job, transport, door, address, blob, fault
//	child   reports  kind u8 and its content, below
//	parent  table    status, communicator id [16], seed [32], address and blob of every rank
//	parent  go       status
//
// The size in a hello with a fault is 0 if the rank does not know it. If a rank is no child of rank 0, rank 0 answers its hello with a status and the door of its
// parent.
//
// Package contact describes the opening. With a key it is a conversation of its own, and everything
// after it is sealed. A status is a text: empty, or the reason why there is no communicator.
//
// The reports of a rank to its parent, after its hello, are:
//
//	come    ranks below it have come: count u32, and of each the rank u32, address, blob
//	gone    a rank below it, and all that are below that one, have gone: rank u32, status
//	ready   it and all ranks below it are prepared
//	quit    a rank waits no longer: rank u32, status
//	fault   there will be no communicator: status
//	alive   it lives, after it was told that another process has come as this rank
const (
	reportCome = iota + 1
	reportGone
	reportReady
	reportQuit
	reportFault
	reportAlive
)

const (
	// Version is the version of all messages between ranks, here and afterwards: ranks of different
	// versions do not meet.
	Version = contact.Version

	// MaxBlob is the greatest length of a rank's blob in bytes.
	MaxBlob = 4096
	// MaxJob is the greatest length of a job's name in bytes.
	MaxJob = contact.MaxJob
	// MaxTransport is the greatest length of a transport's name in bytes.
	MaxTransport = 64
)

// hello is what a rank says about itself.
type hello struct {
	rank, size int // size is 0 if the rank has a fault and does not know it
	job        string
	transport  string
	door       string // where it waits for its children, as addr; empty if it has none
	addr       string // host:port; empty host: the parent fills it in
	blob       []byte
	fault      string // why this rank cannot take part, or empty
}

// appendHello appends what follows the opening.
func appendHello(b []byte, h *hello) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(h.rank))
	b = binary.BigEndian.AppendUint32(b, uint32(h.size))
	b = contact.AppendBytes(contact.AppendBytes(b, h.job), h.transport)
	b = contact.AppendBytes(b, h.door)
	return contact.AppendStatus(contact.AppendBytes(contact.AppendBytes(b, h.addr), h.blob), h.fault)
}

// readHello reads what follows the opening.
func readHello(r io.Reader) (*hello, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", contact.ErrStranger, err)
	}
	rank, size := binary.BigEndian.Uint32(head[0:]), binary.BigEndian.Uint32(head[4:])
	if size > ir.MaxRanks || rank >= ir.MaxRanks || size > 0 && rank >= size {
		return nil, fmt.Errorf("%w: rank %d of %d", contact.ErrStranger, rank, size)
	}
	h := &hello{rank: int(rank), size: int(size)}
	job, err := contact.ReadBytes(r, MaxJob)
	var transport, door, addr []byte
	var fault string
	if err == nil {
		transport, err = contact.ReadBytes(r, MaxTransport)
	}
	if err == nil {
		door, err = contact.ReadBytes(r, contact.MaxText)
	}
	if err == nil {
		addr, err = contact.ReadBytes(r, contact.MaxText)
	}
	if err == nil {
		h.blob, err = contact.ReadBytes(r, MaxBlob)
	}
	if err == nil {
		fault, err = contact.ReadStatus(r)
	}
	if err == nil && size == 0 && fault == "" {
		err = errors.New("it does not say how many ranks there are")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", contact.ErrStranger, err)
	}
	h.job, h.transport, h.door, h.addr, h.fault = string(job), string(transport), string(door), string(addr), fault
	return h, nil
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

// report is one report of a rank to its parent.
type report struct {
	kind byte
	come []entry
	rank int
	why  string
}

func appendCome(b []byte, come []entry) []byte {
	b = binary.BigEndian.AppendUint32(append(b, reportCome), uint32(len(come)))
	for i := range come {
		e := &come[i]
		b = binary.BigEndian.AppendUint32(b, uint32(e.rank))
		b = contact.AppendBytes(contact.AppendBytes(b, e.addr), e.blob)
	}
	return b
}

// appendAbout appends a report of a kind with a rank and a status.
func appendAbout(b []byte, kind byte, rank int, why string) []byte {
	return contact.AppendStatus(binary.BigEndian.AppendUint32(append(b, kind), uint32(rank)), why)
}

func appendFault(b []byte, why string) []byte {
	return contact.AppendStatus(append(b, reportFault), why)
}

// readReport reads a report of a child, which speaks for itself and the ranks below it, among size
// ranks.
func readReport(from io.Reader, child, size int) (r report, err error) {
	var kind [1]byte
	if _, err := io.ReadFull(from, kind[:]); err != nil {
		return r, err
	}
	r.kind = kind[0]
	switch r.kind {
	case reportReady, reportAlive:
	case reportCome:
		r.come, err = readCome(from, child, size)
	case reportGone, reportQuit:
		if r.rank, err = readRank(from, child, size); err == nil {
			r.why, err = contact.ReadStatus(from)
		}
	case reportFault:
		r.why, err = contact.ReadStatus(from)
	default:
		err = fmt.Errorf("unknown report kind %d", r.kind)
	}
	return r, err
}

func readRank(r io.Reader, child, size int) (int, error) {
	u, err := contact.ReadUint32(r)
	if err == nil && (int64(u) >= int64(size) || !inSubtree(int(u), child)) {
		err = fmt.Errorf("it speaks for rank %d, which is not below it", u)
	}
	return int(u), err
}

func readCome(r io.Reader, child, size int) (come []entry, err error) {
	n, err := contact.ReadUint32(r)
	if err == nil && int64(n) > int64(size) {
		err = fmt.Errorf("it reports %d ranks, more than there are", n)
	}
	for ; err == nil && n > 0; n-- {
		var e entry
		var addr []byte
		if e.rank, err = readRank(r, child, size); err == nil {
			addr, err = contact.ReadBytes(r, contact.MaxText)
		}
		if err == nil {
			e.blob, err = contact.ReadBytes(r, MaxBlob)
		}
		e.addr = string(addr)
		come = append(come, e)
	}
	return come, err
}

func appendTable(b []byte, t *Meeting) []byte {
	n := 2 + len(t.ID) + len(t.seed)
	for i := range t.Addrs {
		n += 2 + len(t.Addrs[i]) + 2 + len(t.Blobs[i])
	}
	b = append(append(contact.AppendStatus(slices.Grow(b, n), ""), t.ID[:]...), t.seed[:]...)
	for i := range t.Addrs {
		b = contact.AppendBytes(contact.AppendBytes(b, t.Addrs[i]), t.Blobs[i])
	}
	return b
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
		addr, err := contact.ReadBytes(r, contact.MaxText)
		if err != nil {
			return nil, err
		}
		blob, err := contact.ReadBytes(r, MaxBlob)
		if err != nil {
			return nil, err
		}
		t.Addrs, t.Blobs = append(t.Addrs, string(addr)), append(t.Blobs, blob)
	}
	return t, nil
}
