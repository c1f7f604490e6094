package stream

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/internal/rendezvous"
	"github.com/schedgen/schedgen/runtime/wire"
)

// recordLen is the width of everything that is sent on a data connection
// except bodies: the greeting that opens it, frame headers and goodbyes.
const recordLen = 32

// MaxBody is [wire.MaxBody].
const MaxBody = wire.MaxBody

// pieceSize is how many bytes of a body, at most, stand between two records, so
// that a frame can be called off.
const pieceSize = 256 << 10

// record is one of them, encoded; integers are big-endian.
//
//	frame     magic u16, kind u8, communicator u8, epoch u32, seq u64, slot u32, arg u32, print u32, len u32
//	greeting  magic u32, version u8, lane u8, communicator u8, turn u8, id [16], rank u32, size u32
//
// The others look as a frame does, with a kind of their own and zeros but for what
// is named:
//
//	more      stands before each further pieceSize bytes of a body
//	cut       stands there instead: the rest of the body does not come
//	end       the communicator is closed; the connection ends here, or frames follow that use its number again
//	goodbye   arg = connections that the sender has opened to the receiver, modulo 2^32
//
// A connection on LaneOps is of one communicator. The next one for the same has
// the next turn, modulo 256.
type record [recordLen]byte

const (
	frameMagic    = 0x5C9D
	greetingMagic = 0x5CED6E01
	wireVersion   = rendezvous.Version

	kindGoodbye = wire.FrameKind(0xFF)
	kindEnd     = wire.FrameKind(0xFE)
	kindCut     = wire.FrameKind(0xFD)
	kindMore    = wire.FrameKind(0xFC)
)

var errNoFrame = errors.New("not a frame")

func encodeHeader(r *record, h *wire.Header) {
	binary.BigEndian.PutUint16(r[0:], frameMagic)
	r[2], r[3] = byte(h.Kind), h.Comm
	binary.BigEndian.PutUint32(r[4:], h.Epoch)
	binary.BigEndian.PutUint64(r[8:], h.Seq)
	binary.BigEndian.PutUint32(r[16:], uint32(h.Slot))
	binary.BigEndian.PutUint32(r[20:], h.Arg)
	binary.BigEndian.PutUint32(r[24:], h.Print)
	binary.BigEndian.PutUint32(r[28:], uint32(h.Len))
}

// decodeHeader fills h, except Lane and From, which the connection knows.
func decodeHeader(r []byte, h *wire.Header) error {
	if binary.BigEndian.Uint16(r[0:]) != frameMagic {
		return fmt.Errorf("%w: it begins with %x", errNoFrame, r[:4])
	}
	h.Kind, h.Comm = wire.FrameKind(r[2]), r[3]
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
	if h.Kind < kindMore && !h.Kind.Valid() {
		return fmt.Errorf("%w: unknown kind %d", errNoFrame, h.Kind)
	}
	return nil
}

func bodyLimit(k wire.FrameKind) int {
	switch k {
	case wire.FrameSlot, wire.FrameCast, wire.FrameAgree:
		return MaxBody
	case kindMore, kindCut, kindEnd, kindGoodbye:
		return 0
	}
	return wire.MaxControl
}

// isFrame tells an encoded frame header from the other records.
func isFrame(r *record) bool {
	return binary.BigEndian.Uint16(r[0:]) == frameMagic && wire.FrameKind(r[2]) < kindMore
}

func goodbye(opened uint32) (r record) {
	encodeHeader(&r, &wire.Header{Kind: kindGoodbye, Arg: opened})
	return r
}

// mark returns a record that says nothing but its kind.
func mark(k wire.FrameKind) (r record) {
	encodeHeader(&r, &wire.Header{Kind: k})
	return r
}

// greeting opens a connection of one lane.
type greeting struct {
	id         [16]byte
	rank, size int
	lane       wire.Lane
	comm       uint8 // whose lane it is; 0 for LaneControl
	turn       uint8 // how many connections of this lane the rank has opened before
}

func encodeGreeting(g *greeting) (r record) {
	binary.BigEndian.PutUint32(r[0:], greetingMagic)
	r[4], r[5], r[6], r[7] = wireVersion, byte(g.lane), g.comm, g.turn
	copy(r[8:24], g.id[:])
	binary.BigEndian.PutUint32(r[24:], uint32(g.rank))
	binary.BigEndian.PutUint32(r[28:], uint32(g.size))
	return r
}

// decodeGreeting checks r against what this communicator expects.
func decodeGreeting(r []byte, id [16]byte, size int) (g greeting, ok bool) {
	if binary.BigEndian.Uint32(r[0:]) != greetingMagic || r[4] != wireVersion {
		return g, false
	}
	g.lane, g.comm, g.turn = wire.Lane(r[5]), r[6], r[7]
	copy(g.id[:], r[8:24])
	rank, n := binary.BigEndian.Uint32(r[24:]), binary.BigEndian.Uint32(r[28:])
	if g.id != id || int64(n) != int64(size) || rank >= n || g.lane >= wire.Lanes || g.lane == wire.LaneControl && g.comm > 0 {
		return g, false
	}
	g.rank, g.size = int(rank), int(n)
	return g, true
}
