package rdma

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/schedgen/schedgen/internal/transport/fragment"
)

// MaxSize is the greatest number of ranks. Works and their completions have 16 bits for a rank, and
// one value is [Everybody].
const MaxSize = Everybody

// card is what a rank tells the others about itself when the communicator is built. Integers are
// big-endian:
//
//	 0 version u8   1 flags u8 (1: Ethernet, 2: words have their highest byte first, 4: it multicasts)   2 local identifier u16   4 MTU u16
//	 6 global identifier [16]   22 key of its region u32   26 its address u64
//	34 number of the unreliable queue pair u32   38 group [16]   54 its key u32
type card struct {
	address Address
	order   order
	key     uint32
	base    uint64
	gram    uint32
	group   Group  // of rank 0: the group of all multicasts
	qkey    uint32 // of rank 0: the key of the group
}

const (
	cardVersion = 3
	cardLen     = 58
)

func (c *card) encode() []byte {
	flags := byte(0)
	if c.address.Ethernet {
		flags = 1
	}
	flags |= byte(c.order) << 1
	if c.address.Multicasts {
		flags |= 4
	}
	b := []byte{cardVersion, flags}
	b = binary.BigEndian.AppendUint16(b, c.address.LID)
	b = binary.BigEndian.AppendUint16(b, uint16(c.address.MTU))
	b = append(b, c.address.GID[:]...)
	b = binary.BigEndian.AppendUint32(b, c.key)
	b = binary.BigEndian.AppendUint64(b, c.base)
	b = binary.BigEndian.AppendUint32(b, c.gram)
	b = append(b, c.group[:]...)
	b = binary.BigEndian.AppendUint32(b, c.qkey)
	return b
}

func decodeCard(b []byte) (c card, err error) {
	if len(b) != cardLen || b[0] != cardVersion {
		return c, fmt.Errorf("it does not use this version of transport verbs (%d bytes)", len(b))
	}
	c.address = Address{
		Ethernet: b[1]&1 != 0, Multicasts: b[1]&4 != 0, LID: binary.BigEndian.Uint16(b[2:]), MTU: int(binary.BigEndian.Uint16(b[4:])), GID: [16]byte(b[6:22]),
	}
	c.order = order(b[1] >> 1 & 1)
	c.key, c.base = binary.BigEndian.Uint32(b[22:]), binary.BigEndian.Uint64(b[26:])
	c.gram = binary.BigEndian.Uint32(b[34:])
	c.group, c.qkey = Group(b[38:54]), binary.BigEndian.Uint32(b[54:])
	if c.address.MTU < smallestGram || c.address.MTU > biggestGram {
		return c, fmt.Errorf("its packets have %d bytes, must have %d … %d", c.address.MTU, smallestGram, biggestGram)
	}
	return c, nil
}

// order is the byte order of words in a rank's memory. A flag is written as it is in the sender's
// memory, and its reader interprets the words.
type order uint8

// ownOrder is 1 if the highest byte is first.
var ownOrder = order(binary.NativeEndian.AppendUint16(nil, 1)[1])

var errOrder = errors.New("their memory has words of different byte order")

// ErrLinks: the ranks are not on one network.
var ErrLinks = errors.New("one port is InfiniBand and the other is Ethernet: they cannot reach each other")

// decodeCards decodes the cards of all ranks and checks that they fit together.
func decodeCards(blobs [][]byte) ([]card, error) {
	cards := make([]card, len(blobs))
	for rank, b := range blobs {
		c, err := decodeCard(b)
		if err != nil {
			return nil, fmt.Errorf("rank %d: %w", rank, err)
		}
		switch cards[rank] = c; {
		case c.address.Ethernet != cards[0].address.Ethernet:
			return nil, fmt.Errorf("ranks 0 and %d: %w", rank, ErrLinks)
		case c.order != cards[0].order:
			return nil, fmt.Errorf("ranks 0 and %d: %w", rank, errOrder)
		}
	}
	return cards, nil
}

// multicasts reports whether all ranks can multicast. If one cannot, none does.
func multicasts(cards []card) bool {
	return !slices.ContainsFunc(cards, func(c card) bool { return !c.address.Multicasts })
}

// agree returns the least payload of a datagram and the least room for datagrams of all ranks, in
// bytes.
func agree(cards []card) (payload, room int) {
	payload = biggestGram
	grams := 0
	for i := range cards {
		payload = min(payload, cards[i].address.MTU-fragment.HeadLen)
		if n := planFor(len(cards), cards[i].address.MTU).gramReceives; i == 0 || n < grams {
			grams = n
		}
	}
	return payload, grams * payload / 2 // the other half is for datagrams to one rank
}

// drawGroup draws a group that nobody else knows, and its key. On InfiniBand, 14 bytes are random
// (paper 000, section 3.1); on Ethernet, where it is an IPv4 group, three. The highest bit of the
// key is not set, because keys with that bit are for privileged users.
func drawGroup(random io.Reader, ethernet bool) (g Group, key uint32, err error) {
	var b [18]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return g, 0, fmt.Errorf("draw the multicast group: %w", err)
	}
	key = binary.BigEndian.Uint32(b[14:]) &^ (1 << 31)
	return groupOf(b[:14], ethernet), key, nil
}

// groupOf makes a group of 14 random bytes.
func groupOf(b []byte, ethernet bool) (g Group) {
	if ethernet {
		return Group{10: 0xFF, 11: 0xFF, 12: 239, 13: b[0], 14: b[1], 15: b[2]}
	}
	copy(g[:], []byte{0xFF, 0x12}) // transient, within the subnet
	copy(g[2:], b[:14])
	return g
}
