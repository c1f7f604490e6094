package rdma

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// A message begins with messageMagic u32, followed by records. Integers are big-endian. The header
// of a record:
//
//	 0 kind u8   1 lane u8   2 communicator u8   3 flags u8   4 piece u32
//	 8 epoch u32   12 slot u32   16 seq u64
//	24 arg u32   28 print u32   32 len u32
//
// After the header, piece bytes follow: the beginning of a body of len bytes, or its continuation.
// Kinds of records that are not kinds of frames:
//
//	more      continues the body of the lane's last frame
//	cut       the rest of that body will not arrive
//	took      arg = bytes of the lane that the sink has taken, counted from the first, modulo 2^32
//	goodbye   the last record
//	crash     the last record, but something is missing
const (
	messageMagic = 0x5CED0F02 // the last byte is the version
	messageHead  = 4
	recordLen    = 36

	kindCrash   = wire.FrameKind(0xFA) // the first of these kinds
	kindTook    = wire.FrameKind(0xFB)
	kindMore    = wire.FrameKind(0xFC)
	kindCut     = wire.FrameKind(0xFD)
	kindGoodbye = wire.FrameKind(0xFE) // the last
)

var errNoMessage = errors.New("not a message of a rank")

// record is the header of a record with the length of its piece.
type record struct {
	wire.Header
	piece int
}

func encodeRecord(b []byte, h *wire.Header, piece int) {
	_ = b[recordLen-1]
	b[0], b[1], b[2], b[3] = byte(h.Kind), byte(h.Lane), h.Comm, 0
	binary.BigEndian.PutUint32(b[4:], uint32(piece))
	binary.BigEndian.PutUint32(b[8:], h.Epoch)
	binary.BigEndian.PutUint32(b[12:], uint32(h.Slot))
	binary.BigEndian.PutUint64(b[16:], h.Seq)
	binary.BigEndian.PutUint32(b[24:], h.Arg)
	binary.BigEndian.PutUint32(b[28:], h.Print)
	binary.BigEndian.PutUint32(b[32:], uint32(h.Len))
}

// decodeRecord reads the record at the start of b into r, except From. It returns the bytes after
// the header: the record's piece, and what follows.
func decodeRecord(b []byte, r *record) (rest []byte, err error) {
	if len(b) < recordLen {
		return nil, fmt.Errorf("%w: it ends within a record's head", errNoMessage)
	}
	r.Kind, r.Lane, r.Comm = wire.FrameKind(b[0]), wire.Lane(b[1]), b[2]
	piece, n := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[32:])
	r.Epoch = binary.BigEndian.Uint32(b[8:])
	r.Slot = ir.Slot(binary.BigEndian.Uint32(b[12:]))
	r.Seq = binary.BigEndian.Uint64(b[16:])
	r.Arg = binary.BigEndian.Uint32(b[24:])
	r.Print = binary.BigEndian.Uint32(b[28:])
	switch {
	case !r.Kind.Valid() && (r.Kind < kindCrash || r.Kind > kindGoodbye):
		return nil, fmt.Errorf("%w: unknown kind %d", errNoMessage, r.Kind)
	case r.Lane >= wire.Lanes:
		return nil, fmt.Errorf("%w: unknown lane %d", errNoMessage, r.Lane)
	case int64(n) > int64(bodyLimit(r.Kind)):
		return nil, fmt.Errorf("%w: kind %d with %d bytes, where %d are allowed", errNoMessage, r.Kind, n, bodyLimit(r.Kind))
	case int64(piece) > int64(len(b)-recordLen), r.Kind != kindMore && piece > n:
		return nil, fmt.Errorf("%w: a piece of %d bytes in a body of %d, but %d bytes follow", errNoMessage, piece, n, len(b)-recordLen)
	}
	r.Len, r.piece = int(n), int(piece)
	return b[recordLen:], nil
}

// bodyLimit returns the greatest length of the body of a frame of kind k in bytes.
func bodyLimit(k wire.FrameKind) int {
	if k >= kindCrash {
		return 0
	}
	return k.MaxBody()
}

func encodeMessage(b []byte) { binary.BigEndian.PutUint32(b, messageMagic) }

// decodeMessage returns the records of a message.
func decodeMessage(b []byte) (records []byte, err error) {
	if len(b) < messageHead || binary.BigEndian.Uint32(b) != messageMagic {
		return nil, fmt.Errorf("%w: it begins with %x", errNoMessage, b[:min(len(b), 4)])
	}
	return b[messageHead:], nil
}
