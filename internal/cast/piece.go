package cast

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Pieces are numbered from 0. A piece is one broadcast:
//
//	magic u32, checksum u32 of all that follows, number u64, length u32, flags u8,
//	number of announced pieces u8, their lengths [2]u32, then length bytes
//
// and then, only in piece 0, zeros up to firstLen bytes. Integers are big-endian.
//
// A rank must know the length of a broadcast to take part in it. The length of piece 0 is fixed.
// Each piece announces the lengths of up to two later pieces, until window pieces are announced.
// From then on each piece announces one. So the receivers know of a piece while earlier ones are
// under way, and never expect a piece too many.
const (
	pieceMagic = 0x5ced0ca5
	headLen    = 4 + 4 + 8 + 4 + 1 + 1 + 2*4
	pieceLen   = 1 << 20  // length of a piece in bytes, with its head
	firstLen   = 16 << 10 // length of piece 0; it is short, so that a small file is one short piece

	window = 4  // greatest number of announced pieces under way: a communicator's limit of operations
	stride = 8  // number of pieces between confirmations
	ahead  = 2  // pieces that are read before they are announced
	bufs   = 16 // pieces at a receiver: under way, or waiting for the sink
)

// A piece must take no longer than pieceTime, because receivers measure their rates by pieces and
// report them once a window. The limit is several times the time of pieceLen bytes at 100 Mbit/s,
// because losses of packets make a network seem slower than it is.
const (
	pieceTime  = 0.5      // seconds
	leastPiece = 32 << 10 // bytes
)

// pieceFor returns the length of pieces, in bytes, for the lowest of some rates in bytes a second.
// A rate of 0 means that it is not known.
func pieceFor(rates ...float64) int {
	n := pieceLen
	for _, rate := range rates {
		for n > leastPiece && rate > 0 && float64(n) > pieceTime*rate {
			n /= 2
		}
	}
	return n
}

// most is the greatest number of pieces that a sender holds: two strides of unconfirmed pieces, the
// announced pieces, the pieces that it has read ahead, and the piece that it fills now.
const most = 2*stride + 2*window + ahead + 1

// The flags of a piece.
const (
	flagLast   = 1 << iota // the piece is the last, and announces none
	flagBroken             // with flagLast: the sender has given up before everything was sent
	flagPause              // all ranks enter a barrier when they have the piece; the next pieces measure the network
)

// head is the header of a piece.
type head struct {
	number   uint64
	length   int // bytes
	flags    byte
	announce []int // lengths of announced pieces in bytes, with their heads
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // processors have an instruction for it

// errPiece is wrapped by the errors of pieces.
var errPiece = errors.New("a piece is not as it was sent")

// seal writes the head into the first bytes of piece. It computes the checksum.
func (h *head) seal(piece []byte) {
	clear(piece[:headLen])
	binary.BigEndian.PutUint32(piece[0:], pieceMagic)
	binary.BigEndian.PutUint64(piece[8:], h.number)
	binary.BigEndian.PutUint32(piece[16:], uint32(h.length))
	piece[20], piece[21] = h.flags, byte(len(h.announce))
	for i, n := range h.announce {
		binary.BigEndian.PutUint32(piece[22+4*i:], uint32(n))
	}
	copy(piece[4:], checksum(piece[8:]))
}

func checksum(b []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, crc32.Checksum(b, castagnoli))
}

// open decodes the head of a piece, and checks the whole piece.
func open(piece []byte) (h head, err error) {
	if len(piece) < headLen || binary.BigEndian.Uint32(piece) != pieceMagic {
		return h, fmt.Errorf("%w: it has no head", errPiece)
	}
	if got := checksum(piece[8:]); string(got) != string(piece[4:8]) {
		return h, fmt.Errorf("%w: its checksum is %x, not %x", errPiece, got, piece[4:8])
	}
	h = head{number: binary.BigEndian.Uint64(piece[8:]), length: int(binary.BigEndian.Uint32(piece[16:])), flags: piece[20]}
	if n := piece[21]; n > 2 {
		return h, fmt.Errorf("%w: it announces %d pieces", errPiece, n)
	}
	for i := range int(piece[21]) {
		n := int(binary.BigEndian.Uint32(piece[22+4*i:]))
		if n < headLen || n > pieceLen {
			return h, fmt.Errorf("%w: it announces one of %d bytes", errPiece, n)
		}
		h.announce = append(h.announce, n)
	}
	switch {
	case h.length > len(piece)-headLen || h.number > 0 && h.length != len(piece)-headLen:
		return h, fmt.Errorf("%w: it has %d bytes of %d", errPiece, len(piece)-headLen, h.length)
	case h.flags&^(flagLast|flagBroken|flagPause) != 0, h.flags&flagLast != 0 && len(h.announce) > 0, h.flags&(flagLast|flagBroken) == flagBroken:
		return h, fmt.Errorf("%w: its flags are %b, and it announces %d", errPiece, h.flags, len(h.announce))
	}
	return h, nil
}
