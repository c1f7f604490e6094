package ether

import "encoding/binary"

// address is an Ethernet address.
type address [6]byte

// forMany reports whether frames to the address are for more than one receiver:
// multicasts and the broadcast.
func (a address) forMany() bool { return a[0]&1 != 0 }

// headerLength is that of a frame's header: destination, source, type.
const headerLength = 14

func destinationOf(frame []byte) address { return address(frame) }
func sourceOf(frame []byte) address      { return address(frame[6:]) }

// carriesUDP reports whether a frame is one of IPv4 or IPv6 that carries a UDP
// datagram or a fragment of one. RDMA over Ethernet (RoCEv2) is UDP as well. A
// datagram of IPv6 that has other headers before UDP's is not recognized.
func carriesUDP(frame []byte) bool {
	const typeIPv4, typeIPv6, udp = 0x0800, 0x86dd, 17
	packet := frame[headerLength:]
	switch binary.BigEndian.Uint16(frame[12:]) {
	case typeIPv4:
		return len(packet) >= 20 && packet[9] == udp
	case typeIPv6:
		return len(packet) >= 40 && packet[6] == udp
	}
	return false
}
