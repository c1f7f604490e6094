package datagram

import (
	"encoding/binary"
	"net/netip"

	"github.com/schedgen/schedgen/internal/transport/fragment"
	"github.com/schedgen/schedgen/internal/transport/seal"
	"github.com/schedgen/schedgen/runtime/wire"
)

// With a key, a datagram has sealedMagic and, instead of the checksum, its destination: a rank, or
// noRank for the group of all, or for a communicator's group the last four bytes of the group's
// name with the highest bit set. It ends like a datagram of [seal.Packets]. So it counts only at
// its destination, and once.
const (
	// SealBytes is how many bytes a key takes from a datagram's payload.
	SealBytes = seal.PacketOver

	sealedMagic = 0xEE02
	noRank      = 1<<32 - 1
)

// sealed is a rank's state for sealed datagrams.
type sealed struct {
	packets *seal.Packets
	count   uint64 // datagrams that this rank has sealed
}

// newSealed returns nil if the ranks have no key.
func newSealed(s *seal.Session) (*sealed, error) {
	p, err := s.Packets()
	if p == nil || err != nil {
		return nil, err
	}
	return &sealed{packets: p}, nil
}

// seal appends a datagram to b, which is empty.
func (t *Transport) seal(b []byte, h *wire.Header, to, chunk, offset int, payload []byte) []byte {
	b = append(b, make([]byte, fragment.HeadLen)...)
	head := (*[fragment.HeadLen]byte)(b)
	fragment.EncodeHead(head, &t.mark, h, t.rank, chunk, offset)
	binary.BigEndian.PutUint32(head[0:], uint32(to)) // everybody becomes noRank
	binary.BigEndian.PutUint16(head[4:], sealedMagic)
	t.sealed.count++
	return t.sealed.packets.Seal(append(b, payload...), fragment.HeadLen, t.rank, t.sealed.count)
}

// open is examine for sealed datagrams. It does the cheapest checks first.
func (t *Transport) open(in *inlet, b []byte, whole bool, source netip.AddrPort, p *fragment.Part) (payload []byte, f fragment.Fault) {
	from, f := t.claimed(b)
	switch {
	case f != fragment.Sound:
		return nil, f
	case !whole:
		return nil, fragment.Torn
	case source != in.sources[from]:
		return nil, fragment.Forged
	case from == t.rank:
		return nil, fragment.Ours
	}
	b, count, ok := t.sealed.packets.Open(b, fragment.HeadLen, from)
	if !ok {
		return nil, fragment.Unauthenticated
	}
	if binary.BigEndian.Uint32(b) != in.to || !in.windows[from].Take(count) {
		return nil, fragment.Replayed
	}
	return b[fragment.HeadLen:], p.Read(b, t.size, t.payload)
}

// claimed returns the rank that b claims as its sender.
func (t *Transport) claimed(b []byte) (from int, f fragment.Fault) {
	if len(b) < 6 || binary.BigEndian.Uint16(b[4:]) != sealedMagic {
		return 0, fragment.Foreign
	}
	if len(b) < fragment.HeadLen+seal.PacketOver {
		return 0, fragment.Torn
	}
	if !t.mark.On(b) {
		return 0, fragment.Foreign
	}
	return fragment.Sender(b, t.size)
}
