package fragment

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// HeadLen is the width of a datagram's head. Integers are big-endian:
//
//	 0 magic u32     4 checksum u32    8 communicator id [16]
//	24 sender u32   28 epoch u32      32 seq u64
//	40 slot u32     44 print u32      48 arg u32
//	52 chunk u32    56 offset u32     60 payload u16   62 kind u8   63 communicator u8
//
// chunk is the length of the whole chunk, payload that of the part of it in
// this datagram, which belongs at offset. The checksum (CRC-32C) covers all
// that follows it: UDP's own is weak, optional, and not computed at all on
// loopback interfaces. With a key there is none (package datagram).
const HeadLen = 64

const (
	magic = 0x5CED0D02 // the last byte is the version, as of what is sealed

	// KindProbe is a datagram that a rank sends to itself, to see whether
	// multicast works.
	KindProbe = wire.FrameKind(0xFE)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Fault says why a datagram is not what it should be.
type Fault uint8

// The faults.
const (
	Sound           Fault = iota
	Foreign               // of another communicator, or no datagram of ours at all
	Torn                  // cut short, or with lengths that do not fit
	Forged                // not from its sender's address
	Unauthenticated       // not sealed with the key
	Replayed              // has come before, or was for others
	Ours                  // has been sent by this rank
)

// Part is the head of a datagram.
type Part struct {
	wire.Header         // Len is the chunk's, From is what the datagram claims
	Offset, Payload int // bytes
}

// Encode writes the head of a datagram; payload is what will follow it.
func Encode(b *[HeadLen]byte, id *[16]byte, h *wire.Header, from, chunk, offset int, payload []byte) {
	EncodeHead(b, id, h, from, chunk, offset, len(payload))
	binary.BigEndian.PutUint32(b[0:], magic)
	binary.BigEndian.PutUint32(b[4:], crc32.Update(crc32.Checksum(b[8:], castagnoli), castagnoli, payload))
}

// EncodeHead writes all but the first eight bytes of a head.
func EncodeHead(b *[HeadLen]byte, id *[16]byte, h *wire.Header, from, chunk, offset, payload int) {
	copy(b[8:24], id[:])
	binary.BigEndian.PutUint32(b[24:], uint32(from))
	binary.BigEndian.PutUint32(b[28:], h.Epoch)
	binary.BigEndian.PutUint64(b[32:], h.Seq)
	binary.BigEndian.PutUint32(b[40:], uint32(h.Slot))
	binary.BigEndian.PutUint32(b[44:], h.Print)
	binary.BigEndian.PutUint32(b[48:], h.Arg)
	binary.BigEndian.PutUint32(b[52:], uint32(chunk))
	binary.BigEndian.PutUint32(b[56:], uint32(offset))
	binary.BigEndian.PutUint16(b[60:], uint16(payload))
	b[62], b[63] = byte(h.Kind), h.Comm
}

// Decode reads the head of datagram b into p. size is the number of ranks
// and limit the agreed payload of a datagram.
func Decode(b []byte, id *[16]byte, size, limit int, p *Part) Fault {
	if len(b) < 4 || binary.BigEndian.Uint32(b) != magic {
		return Foreign
	}
	if len(b) < HeadLen {
		return Torn
	}
	if [16]byte(b[8:24]) != *id {
		return Foreign
	}
	if binary.BigEndian.Uint32(b[4:]) != crc32.Checksum(b[8:], castagnoli) {
		return Torn
	}
	return p.Read(b, size, limit)
}

// Read reads the head of b, and checks what must fit.
func (p *Part) Read(b []byte, size, limit int) Fault {
	p.Kind, p.Comm, p.Lane = wire.FrameKind(b[62]), b[63], wire.LaneOps
	p.Epoch = binary.BigEndian.Uint32(b[28:])
	p.Seq = binary.BigEndian.Uint64(b[32:])
	p.Slot = ir.Slot(binary.BigEndian.Uint32(b[40:]))
	p.Print = binary.BigEndian.Uint32(b[44:])
	p.Arg = binary.BigEndian.Uint32(b[48:])
	return p.measure(b, size, limit)
}

// measure reads what must fit: the sender, and the lengths.
func (p *Part) measure(b []byte, size, limit int) Fault {
	from, chunk := binary.BigEndian.Uint32(b[24:]), binary.BigEndian.Uint32(b[52:])
	offset, payload := binary.BigEndian.Uint32(b[56:]), binary.BigEndian.Uint16(b[60:])
	if int64(from) >= int64(size) || int64(chunk) > MaxChunk || offset > chunk {
		return Torn
	}
	p.From, p.Len, p.Offset, p.Payload = int(from), int(chunk), int(offset), int(payload)
	switch {
	case p.Payload != len(b)-HeadLen,
		p.Offset%limit != 0,
		p.Payload != min(limit, p.Len-p.Offset),
		p.Payload == 0 && p.Len > 0,
		p.Kind != KindProbe && !p.Kind.Valid():
		return Torn
	}
	return Sound
}

// Count adds a datagram with this fault to the counters of those that are dropped, and
// reports whether there is one for it.
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
