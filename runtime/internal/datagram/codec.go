package datagram

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// headerLen is the width of a datagram's head. Integers are big-endian:
//
//	 0 magic u32     4 checksum u32    8 communicator id [16]
//	24 sender u32   28 epoch u32      32 seq u64
//	40 slot u32     44 print u32      48 arg u32
//	52 chunk u32    56 offset u32     60 payload u16   62 kind u8   63 communicator u8
//
// chunk is the length of the whole chunk, payload that of the part of it in
// this datagram, which belongs at offset. The checksum (CRC-32C) covers all
// that follows it: UDP's own is weak, optional, and not computed at all on
// loopback interfaces. With a key there is none (sealed.go).
const headerLen = 64

const (
	magic = 0x5CED0D02 // the last byte is the version, as of sealedMagic

	// kindProbe is a datagram that a rank sends to itself, to see whether
	// multicast works.
	kindProbe = wire.FrameKind(0xFE)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fault says why a datagram is not what it should be.
type fault uint8

const (
	sound fault = iota
	foreign
	torn
	forged          // not from its sender's address
	unauthenticated // not sealed with the key
	replayed        // has come before, or was for others
	ours            // has been sent by this rank
)

// part is the head of a datagram.
type part struct {
	wire.Header         // Len is the chunk's, From is what the datagram claims
	offset, payload int // bytes
}

// encodePart writes the head of a datagram; payload is what will follow it.
func encodePart(b *[headerLen]byte, id *[16]byte, h *wire.Header, from, chunk, offset int, payload []byte) {
	encodeHead(b, id, h, from, chunk, offset, len(payload))
	binary.BigEndian.PutUint32(b[0:], magic)
	binary.BigEndian.PutUint32(b[4:], crc32.Update(crc32.Checksum(b[8:], castagnoli), castagnoli, payload))
}

// encodeHead writes all but the first eight bytes of a head.
func encodeHead(b *[headerLen]byte, id *[16]byte, h *wire.Header, from, chunk, offset, payload int) {
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

// decodePart reads the head of datagram b into p. size is the number of ranks
// and limit the agreed payload of a datagram.
func decodePart(b []byte, id *[16]byte, size, limit int, p *part) fault {
	if len(b) < 4 || binary.BigEndian.Uint32(b) != magic {
		return foreign
	}
	if len(b) < headerLen {
		return torn
	}
	if [16]byte(b[8:24]) != *id {
		return foreign
	}
	if binary.BigEndian.Uint32(b[4:]) != crc32.Checksum(b[8:], castagnoli) {
		return torn
	}
	return p.read(b, size, limit)
}

// read reads the head of b, and checks what must fit.
func (p *part) read(b []byte, size, limit int) fault {
	p.Kind, p.Comm, p.Lane = wire.FrameKind(b[62]), b[63], wire.LaneOps
	p.Epoch = binary.BigEndian.Uint32(b[28:])
	p.Seq = binary.BigEndian.Uint64(b[32:])
	p.Slot = ir.Slot(binary.BigEndian.Uint32(b[40:]))
	p.Print = binary.BigEndian.Uint32(b[44:])
	p.Arg = binary.BigEndian.Uint32(b[48:])
	return p.measure(b, size, limit)
}

// measure reads what must fit: the sender, and the lengths.
func (p *part) measure(b []byte, size, limit int) fault {
	from, chunk := binary.BigEndian.Uint32(b[24:]), binary.BigEndian.Uint32(b[52:])
	offset, payload := binary.BigEndian.Uint32(b[56:]), binary.BigEndian.Uint16(b[60:])
	if int64(from) >= int64(size) || int64(chunk) > maxChunk || offset > chunk {
		return torn
	}
	p.From, p.Len, p.offset, p.payload = int(from), int(chunk), int(offset), int(payload)
	switch {
	case p.payload != len(b)-headerLen,
		p.offset%limit != 0,
		p.payload != min(limit, p.Len-p.offset),
		p.payload == 0 && p.Len > 0,
		p.Kind != kindProbe && !p.Kind.Valid():
		return torn
	}
	return sound
}
