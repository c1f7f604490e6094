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

// The messages between rank 0 and another rank have big-endian integers; a u16 length precedes text
// and blobs:
//
//	rank    hello    opening, rank u32, size u32, job, transport, address, blob, fault
//	rank    reports  kind u8 and its content, below
//	rank 0  table    status, communicator id [16], seed [32], address and blob of every rank
//	rank 0  go       status
//
// The size in a hello with a fault is 0 if the rank does not know it.
//
// Package contact describes the opening. With a key it is a conversation of its own, and everything
// after it is sealed. A status is a text: empty, or the reason why there is no communicator.
//
// The reports of a rank, after its hello, are:
//
//	ready   it is prepared
//	quit    it waits no longer: status
//	fault   there will be no communicator: status
//	alive   it lives, after it was told that another process has come as this rank
const (
	reportReady = iota + 1
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
	addr       string // host:port; empty host: rank 0 fills it in
	blob       []byte
	fault      string // why this rank cannot take part, or empty
}

// appendHello appends what follows the opening.
func appendHello(b []byte, h *hello) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(h.rank))
	b = binary.BigEndian.AppendUint32(b, uint32(h.size))
	b = contact.AppendBytes(contact.AppendBytes(b, h.job), h.transport)
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
	var transport, addr []byte
	var fault string
	if err == nil {
		transport, err = contact.ReadBytes(r, MaxTransport)
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
	h.job, h.transport, h.addr, h.fault = string(job), string(transport), string(addr), fault
	return h, nil
}

// jobError is the hello of a rank of another job.
type jobError struct {
	rank int
	job  string
	want string
}

func (e *jobError) Error() string {
	return fmt.Sprintf("rank %d is of job %q, rank 0 of job %q", e.rank, e.job, e.want)
}

// report is one report of a rank to rank 0.
type report struct {
	kind byte
	why  string // of quit and fault
}

// appendReport appends a report of a kind that has a status.
func appendReport(b []byte, kind byte, why string) []byte {
	return contact.AppendStatus(append(b, kind), why)
}

// readReport reads a report.
func readReport(from io.Reader) (r report, err error) {
	var kind [1]byte
	if _, err := io.ReadFull(from, kind[:]); err != nil {
		return r, err
	}
	r.kind = kind[0]
	switch r.kind {
	case reportReady, reportAlive:
	case reportQuit, reportFault:
		r.why, err = contact.ReadStatus(from)
	default:
		err = fmt.Errorf("unknown report kind %d", r.kind)
	}
	return r, err
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
