package datagram

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
)

// card is what a rank tells the other ranks about itself when the communicator is built.
type card struct {
	family  int
	payload int            // bytes that its interface allows in a datagram
	room    int            // bytes for datagrams in its receive buffer
	sender  netip.AddrPort // source of its multicasts
	direct  netip.AddrPort // destination of datagrams to it, and source of its own to one rank
	group   netip.AddrPort // the group of all ranks; rank 0's card only
}

const (
	cardVersion = 2
	cardLen     = 2 + 4 + 4 + 3*18
)

func (c *card) encode() []byte {
	b := binary.BigEndian.AppendUint32([]byte{cardVersion, byte(c.family)}, uint32(c.payload))
	b = binary.BigEndian.AppendUint32(b, uint32(c.room))
	for _, a := range []netip.AddrPort{c.sender, c.direct, c.group} {
		ip := a.Addr().As16()
		b = binary.BigEndian.AppendUint16(append(b, ip[:]...), a.Port())
	}
	return b
}

func decodeCard(b []byte) (card, error) {
	if len(b) != cardLen || b[0] != cardVersion || b[1] != 4 && b[1] != 6 {
		return card{}, fmt.Errorf("it does not use this version of transport mcast (%d bytes)", len(b))
	}
	c := card{family: int(b[1]), payload: int(binary.BigEndian.Uint32(b[2:])), room: int(binary.BigEndian.Uint32(b[6:]))}
	for i, a := range []*netip.AddrPort{&c.sender, &c.direct, &c.group} {
		f := b[10+18*i:]
		ip := netip.AddrFrom16([16]byte(f)).Unmap()
		*a = netip.AddrPortFrom(ip, binary.BigEndian.Uint16(f[16:]))
	}
	if c.payload < minBytes || c.payload > maxIPv4 {
		return card{}, fmt.Errorf("its datagrams have %d bytes, must have %d … %d", c.payload, minBytes, maxIPv4)
	}
	return c, nil
}

// deck holds the cards of all ranks, checked against each other.
type deck struct {
	senders []netip.AddrPort // by rank
	directs []netip.AddrPort // by rank
	payload int              // the least of all
	room    int              // the least of all
	group   netip.AddrPort
}

func gather(blobs [][]byte) (*deck, error) {
	d := &deck{payload: maxIPv4, room: math.MaxInt32}
	family := 0
	for rank, b := range blobs {
		c, err := decodeCard(b)
		if err != nil {
			return nil, fmt.Errorf("rank %d: %w", rank, err)
		}
		if rank == 0 {
			family, d.group = c.family, c.group
		}
		if c.family != family {
			return nil, fmt.Errorf("rank %d multicasts in IPv%d, rank 0 in IPv%d", rank, c.family, family)
		}
		if len(d.senders) > 0 && c.sender.Addr().IsLoopback() != d.senders[0].Addr().IsLoopback() {
			return nil, fmt.Errorf("rank %d multicasts from %v, rank 0 from %v: only one is a loopback interface",
				rank, c.sender.Addr(), d.senders[0].Addr())
		}
		d.payload, d.room = min(d.payload, c.payload), min(d.room, c.room)
		d.senders, d.directs = append(d.senders, c.sender), append(d.directs, c.direct)
	}
	if !d.group.Addr().IsMulticast() {
		return nil, fmt.Errorf("rank 0 has chosen the group %v, which is no multicast group", d.group)
	}
	return d, nil
}
