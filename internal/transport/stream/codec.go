package stream

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/internal/meet"
	"github.com/schedgen/schedgen/internal/transport/seal"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// recordLen is the length of everything on a data connection except bodies: the greeting that opens
// it, without its proof, frame headers and goodbyes. With a key everything except the greeting is
// sealed (sealed.go).
const recordLen = 32

// MaxBody is [wire.MaxBody].
const MaxBody = wire.MaxBody

// pieceSize is the greatest number of bytes of a body between two records, so that a frame can be
// called off.
const pieceSize = 256 << 10

// record is an encoded record; integers are big-endian.
//
//	frame     magic u16, kind u8, communicator u8, epoch u32, seq u64, slot u32, arg u32, print u32, len u32
//	greeting  magic u32, version u8, lane u8, communicator u8, turn u8, id [16], rank u32, size u32
//
// Other records have the form of a frame with a kind of their own, and zeros in all fields except
// the named ones:
//
//	begin     seq = turn; begins the half of the rank that has not opened the connection
//	more      precedes each further pieceSize bytes of a body
//	cut       replaces a more: the rest of the body does not come
//	end       the sender's half ends here: its later frames come in its next turn
//	goodbye   arg = halves that the sender has begun to the receiver, modulo 2^32; nothing follows
//
// A connection on LaneOps belongs to one communicator. A rank speaks on one lane to another in
// turns (lanes.go); a greeting has the last eight bits of the turn. A proof follows a greeting: the
// tag shows that its sender has met the others. It covers the receiver's rank and the whole turn,
// so a repeated greeting is useless.
type record [recordLen]byte

const greetingLen = recordLen + seal.TagLen

const (
	frameMagic    = 0x5C9D
	greetingMagic = 0x5CED6E01
	wireVersion   = meet.Version

	kindGoodbye = wire.FrameKind(0xFF)
	kindEnd     = wire.FrameKind(0xFE)
	kindCut     = wire.FrameKind(0xFD)
	kindMore    = wire.FrameKind(0xFC)
	kindBegin   = wire.FrameKind(0xFB)
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
	if h.Kind < kindBegin && !h.Kind.Valid() {
		return fmt.Errorf("%w: unknown kind %d", errNoFrame, h.Kind)
	}
	return nil
}

func bodyLimit(k wire.FrameKind) int {
	if k >= kindBegin {
		return 0
	}
	return k.MaxBody()
}

// isFrame reports whether r is a frame header.
func isFrame(r *record) bool {
	return binary.BigEndian.Uint16(r[0:]) == frameMagic && wire.FrameKind(r[2]) < kindBegin
}

func goodbye(opened uint32) (r record) {
	encodeHeader(&r, &wire.Header{Kind: kindGoodbye, Arg: opened})
	return r
}

// begun returns the record that begins the half of the rank that has not opened the connection.
func begun(turn uint64) (r record) {
	encodeHeader(&r, &wire.Header{Kind: kindBegin, Seq: turn})
	return r
}

// mark returns a record that has only a kind.
func mark(k wire.FrameKind) (r record) {
	encodeHeader(&r, &wire.Header{Kind: k})
	return r
}

// greeting opens a connection of one lane.
type greeting struct {
	id         [16]byte
	rank, size int
	lane       wire.Lane
	comm       uint8  // the lane's communicator; 0 for LaneControl
	turn       uint64 // turn of the half in which the rank speaks
}

// greetingTo returns the encoded greeting for rank to, with its proof.
func (g *greeting) greetingTo(to int, s *seal.Session) []byte {
	r := encodeGreeting(g)
	tag := s.Prove(g.claim(r[:], to))
	return append(r[:], tag[:]...)
}

// claim is the data that the proof of a greeting to rank to covers.
func (g *greeting) claim(r []byte, to int) []byte {
	b := append(make([]byte, 0, recordLen+12), r[:recordLen]...)
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, uint32(to)), g.turn)
}

func encodeGreeting(g *greeting) (r record) {
	binary.BigEndian.PutUint32(r[0:], greetingMagic)
	r[4], r[5], r[6], r[7] = wireVersion, byte(g.lane), g.comm, byte(g.turn)
	copy(r[8:24], g.id[:])
	binary.BigEndian.PutUint32(r[24:], uint32(g.rank))
	binary.BigEndian.PutUint32(r[28:], uint32(g.size))
	return r
}

// decodeGreeting checks r, without its proof, against this communicator. It returns only the last
// eight bits of the turn.
func decodeGreeting(r []byte, id [16]byte, size int) (g greeting, ok bool) {
	if binary.BigEndian.Uint32(r[0:]) != greetingMagic || r[4] != wireVersion {
		return g, false
	}
	g.lane, g.comm, g.turn = wire.Lane(r[5]), r[6], uint64(r[7])
	copy(g.id[:], r[8:24])
	rank, n := binary.BigEndian.Uint32(r[24:]), binary.BigEndian.Uint32(r[28:])
	if g.id != id || int64(n) != int64(size) || rank >= n || g.lane >= wire.Lanes || g.lane == wire.LaneControl && g.comm > 0 {
		return g, false
	}
	g.rank, g.size = int(rank), int(n)
	return g, true
}
