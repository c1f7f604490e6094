package tcp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// recordLen is the width of everything that is sent on a data connection
// except bodies: the greeting that opens it, frame headers and goodbyes.
const recordLen = 32

// MaxBody is the largest body, in bytes, that a frame can carry.
const MaxBody = math.MaxInt32

// record is one of them, encoded; integers are big-endian.
//
//	frame     magic u16, kind u8, 0 u8, epoch u32, seq u64, slot u32, arg u32, print u32, len u32
//	goodbye   the same with kind kindGoodbye, seq = last operation, arg = lanes that the sender has opened
//	greeting  magic u32, version u8, lane u8, 0 u16, communicator id [16], rank u32, size u32
type record [recordLen]byte

const (
	frameMagic    = 0x5C9D
	greetingMagic = 0x5CED6E01
	wireVersion   = 1

	kindGoodbye = wire.FrameKind(0xFF)
)

var errNoFrame = errors.New("not a frame")

func encodeHeader(r *record, h *wire.Header) {
	binary.BigEndian.PutUint16(r[0:], frameMagic)
	r[2], r[3] = byte(h.Kind), 0
	binary.BigEndian.PutUint32(r[4:], h.Epoch)
	binary.BigEndian.PutUint64(r[8:], h.Seq)
	binary.BigEndian.PutUint32(r[16:], uint32(h.Slot))
	binary.BigEndian.PutUint32(r[20:], h.Arg)
	binary.BigEndian.PutUint32(r[24:], h.Print)
	binary.BigEndian.PutUint32(r[28:], uint32(h.Len))
}

// decodeHeader fills h, except Lane and From, which the connection knows.
func decodeHeader(r []byte, h *wire.Header) error {
	if binary.BigEndian.Uint16(r[0:]) != frameMagic || r[3] != 0 {
		return fmt.Errorf("%w: it begins with %x", errNoFrame, r[:4])
	}
	h.Kind = wire.FrameKind(r[2])
	h.Epoch = binary.BigEndian.Uint32(r[4:])
	h.Seq = binary.BigEndian.Uint64(r[8:])
	h.Slot = ir.Slot(binary.BigEndian.Uint32(r[16:]))
	h.Arg = binary.BigEndian.Uint32(r[20:])
	h.Print = binary.BigEndian.Uint32(r[24:])
	n := binary.BigEndian.Uint32(r[28:])
	if limit := bodyLimit(h.Kind); int64(n) > int64(limit) {
		return fmt.Errorf("%w: kind %d with %d bytes, where %d are allowed", errNoFrame, h.Kind, n, limit)
	}
	h.Len = int(n)
	if h.Kind != kindGoodbye && !h.Kind.Valid() {
		return fmt.Errorf("%w: unknown kind %d", errNoFrame, h.Kind)
	}
	return nil
}

func bodyLimit(k wire.FrameKind) int {
	switch k {
	case wire.FrameSlot, wire.FrameCast:
		return MaxBody
	case kindGoodbye:
		return 0
	}
	return wire.MaxControl
}

// isFrame tells an encoded frame header from the other records.
func isFrame(r *record) bool {
	return binary.BigEndian.Uint16(r[0:]) == frameMagic && wire.FrameKind(r[2]) != kindGoodbye
}

func goodbye(seq uint64, lanes uint32) (r record) {
	encodeHeader(&r, &wire.Header{Kind: kindGoodbye, Seq: seq, Arg: lanes})
	return r
}

// greeting opens a connection of one lane.
type greeting struct {
	id         [16]byte
	rank, size int
	lane       wire.Lane
}

func encodeGreeting(g *greeting) (r record) {
	binary.BigEndian.PutUint32(r[0:], greetingMagic)
	r[4], r[5] = wireVersion, byte(g.lane)
	copy(r[8:24], g.id[:])
	binary.BigEndian.PutUint32(r[24:], uint32(g.rank))
	binary.BigEndian.PutUint32(r[28:], uint32(g.size))
	return r
}

// decodeGreeting checks r against what this communicator expects.
func decodeGreeting(r []byte, id [16]byte, size int) (g greeting, ok bool) {
	if binary.BigEndian.Uint32(r[0:]) != greetingMagic || r[4] != wireVersion || r[6] != 0 || r[7] != 0 {
		return g, false
	}
	g.lane = wire.Lane(r[5])
	copy(g.id[:], r[8:24])
	rank, n := binary.BigEndian.Uint32(r[24:]), binary.BigEndian.Uint32(r[28:])
	if g.id != id || int64(n) != int64(size) || rank >= n || g.lane >= wire.Lanes {
		return g, false
	}
	g.rank, g.size = int(rank), int(n)
	return g, true
}
