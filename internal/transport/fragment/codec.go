package fragment

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// HeadLen is the width of a datagram's head. Integers are big-endian:
//
//	 0 checksum u32  4 magic u16      6 kind u8      7 communicator u8
//	 8 mark [4]     12 sender u32    16 epoch u32   20 slot u32
//	24 seq u64      32 print u32     36 arg u32     40 chunk u32    44 offset u32
//
// chunk is the length of the whole chunk. The part in this datagram follows the head and belongs at
// offset. The checksum (CRC-32C) covers the communicator's id, and then everything after the
// checksum: UDP's own checksum is weak, optional, and not computed at all on loopback interfaces.
// With a key there is no checksum (package datagram).
const HeadLen = 48

const (
	magic = 0xED03 // the last byte is the version, as in sealed datagrams

	// KindProbe is the kind of an empty datagram by which ranks test whether multicasts arrive: the
	// sender's own rank and other ranks look for it.
	KindProbe = wire.FrameKind(0xFE)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Fault says what is wrong with a datagram.
type Fault uint8

// The faults.
const (
	Sound           Fault = iota
	Foreign               // of another communicator, or not one of our datagrams
	Torn                  // truncated, or with inconsistent lengths
	Forged                // not from its sender's address
	Unauthenticated       // not sealed with the key
	Replayed              // received before, too old to tell, or meant for other ranks
	Ours                  // sent by this rank
)

// Mark distinguishes the datagrams of a communicator from other datagrams by four bytes of the
// head, the first bytes of its id, and by the checksum, which covers all sixteen bytes. So a
// datagram of another communicator passes only if both match.
type Mark struct {
	ID  [16]byte // the communicator's id
	sum uint32   // the checksum of the id, with which each checksum begins
}

// MarkOf returns the mark of a communicator's id.
func MarkOf(id [16]byte) Mark { return Mark{id, crc32.Checksum(id[:], castagnoli)} }

// On reports whether head b, of at least HeadLen bytes, has the first bytes of this communicator's
// id.
func (m *Mark) On(b []byte) bool { return [4]byte(b[8:]) == [4]byte(m.ID[:]) }

// Part is the head of a datagram.
type Part struct {
	wire.Header         // Len is the chunk's length, From is the sender that the datagram claims
	Offset, Payload int // bytes
}

// Encode writes the head of a datagram; payload will follow it.
func Encode(b *[HeadLen]byte, m *Mark, h *wire.Header, from, chunk, offset int, payload []byte) {
	EncodeHead(b, m, h, from, chunk, offset)
	binary.BigEndian.PutUint16(b[4:], magic)
	binary.BigEndian.PutUint32(b[0:], crc32.Update(crc32.Update(m.sum, castagnoli, b[4:]), castagnoli, payload))
}

// EncodeHead writes a head without the checksum and the magic.
func EncodeHead(b *[HeadLen]byte, m *Mark, h *wire.Header, from, chunk, offset int) {
	b[6], b[7] = byte(h.Kind), h.Comm
	copy(b[8:12], m.ID[:])
	binary.BigEndian.PutUint32(b[12:], uint32(from))
	binary.BigEndian.PutUint32(b[16:], h.Epoch)
	binary.BigEndian.PutUint32(b[20:], uint32(h.Slot))
	binary.BigEndian.PutUint64(b[24:], h.Seq)
	binary.BigEndian.PutUint32(b[32:], h.Print)
	binary.BigEndian.PutUint32(b[36:], h.Arg)
	binary.BigEndian.PutUint32(b[40:], uint32(chunk))
	binary.BigEndian.PutUint32(b[44:], uint32(offset))
}

// Decode reads the head of datagram b into p. size is the number of ranks and limit the agreed
// payload of a datagram.
func Decode(b []byte, m *Mark, size, limit int, p *Part) Fault {
	if len(b) < 6 || binary.BigEndian.Uint16(b[4:]) != magic {
		return Foreign
	}
	if len(b) < HeadLen {
		return Torn
	}
	if !m.On(b) {
		return Foreign
	}
	if binary.BigEndian.Uint32(b) != crc32.Update(m.sum, castagnoli, b[4:]) {
		return Torn
	}
	return p.Read(b, size, limit)
}

// Sender returns the rank that head b, of at least HeadLen bytes, claims as its sender. If the head
// is sound, it is in 0 … size-1.
func Sender(b []byte, size int) (from int, f Fault) {
	rank := binary.BigEndian.Uint32(b[12:])
	if int64(rank) >= int64(size) {
		return 0, Torn
	}
	return int(rank), Sound
}

// Read reads the head of b and checks its values.
func (p *Part) Read(b []byte, size, limit int) Fault {
	p.Kind, p.Comm, p.Lane = wire.FrameKind(b[6]), b[7], wire.LaneOps
	p.Epoch = binary.BigEndian.Uint32(b[16:])
	p.Slot = ir.Slot(binary.BigEndian.Uint32(b[20:]))
	p.Seq = binary.BigEndian.Uint64(b[24:])
	p.Print = binary.BigEndian.Uint32(b[32:])
	p.Arg = binary.BigEndian.Uint32(b[36:])
	return p.measure(b, size, limit)
}

// measure reads and checks the sender and the lengths.
func (p *Part) measure(b []byte, size, limit int) Fault {
	from, f := Sender(b, size)
	chunk, offset := binary.BigEndian.Uint32(b[40:]), binary.BigEndian.Uint32(b[44:])
	if f != Sound || int64(chunk) > MaxChunk || offset > chunk {
		return Torn
	}
	p.From, p.Len, p.Offset, p.Payload = from, int(chunk), int(offset), len(b)-HeadLen
	switch {
	case p.Offset%limit != 0,
		p.Payload != min(limit, p.Len-p.Offset),
		p.Payload == 0 && p.Len > 0,
		p.Kind != KindProbe && !p.Kind.Valid():
		return Torn
	}
	return Sound
}

// Count adds a datagram with this fault to its counter of dropped datagrams, and reports whether
// there is such a counter.
func (f Fault) Count(s *wire.Stats) bool {
	switch f {
	case Foreign:
		s.Foreign++
	case Torn:
		s.Torn++
	case Forged:
		s.Forged++
	case Unauthenticated:
		s.Unauthenticated++
	case Replayed:
		s.Replayed++
	default:
		return false
	}
	return true
}
