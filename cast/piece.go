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
//	how many pieces are announced u8, their bytes u32 each [2], then so many bytes as length says
//
// and behind these, in piece 0 alone, zeros up to firstLen bytes. Integers are big-endian.
//
// To take part in a broadcast a rank must know its length. That of piece 0 is fixed, and each piece
// announces up to two that follow those announced before, until window are announced; from then on
// it announces one. So the receivers know of each piece while those before it are under way, and at
// the end there is none too many.
const (
	pieceMagic = 0x5ced0ca5
	headLen    = 4 + 4 + 8 + 4 + 1 + 1 + 2*4
	pieceLen   = 1 << 20  // with its head, in bytes
	firstLen   = 16 << 10 // of piece 0, likewise: a small file is to be one small piece

	window = 4  // pieces that are announced and not complete, which is how many operations a communicator has under way
	stride = 8  // ranks confirm every so many pieces
	ahead  = 2  // pieces that are read beyond those that are announced
	bufs   = 16 // pieces that a receiver has: under way, and to be written
)

// A piece is to take no longer than pieceTime: who is much slower than others shows by the pieces,
// and they by the windows of which a receiver tells. Where packets are lost a network seems slower
// than it is, so this is some times what one of pieceLen takes at 100 Mbit/s.
const (
	pieceTime  = 0.5      // seconds
	leastPiece = 32 << 10 // bytes
)

// pieceFor returns the length of pieces for as many bytes a second as the least of some rates, of
// which 0 says nothing.
func pieceFor(rates ...float64) int {
	n := pieceLen
	for _, rate := range rates {
		for n > leastPiece && rate > 0 && float64(n) > pieceTime*rate {
			n /= 2
		}
	}
	return n
}

// most is how many pieces a sender holds at most: those between two confirmations and behind them,
// those that are announced, those that are read ahead, and the one that is being filled.
const most = 2*stride + 2*window + ahead + 1

// The flags of a piece.
const (
	flagLast   = 1 << iota // no piece follows those that are announced; there are none
	flagBroken             // and not all has been sent: the sender gives up
	flagPause              // all meet in a barrier when they have it: those that follow tell how fast the network is now
)

// head is what stands before the bytes of a piece.
type head struct {
	number   uint64
	length   int // bytes
	flags    byte
	announce []int // bytes of pieces with their heads
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // computed by the processor itself: it has nothing to gain from another hash

// errPiece is what is wrong with a piece.
var errPiece = errors.New("a piece is not as it was sent")

// seal writes the head into the first bytes of piece.
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

// open reads the head of a piece, and checks all of it.
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
