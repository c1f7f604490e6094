package ether

import "encoding/binary"

// address is an Ethernet address.
type address [6]byte

// forMany reports whether the address is a multicast or broadcast address.
func (a address) forMany() bool { return a[0]&1 != 0 }

// headerLength is the length of the header of a frame: destination, source, type.
const headerLength = 14

func destinationOf(frame []byte) address { return address(frame) }
func sourceOf(frame []byte) address      { return address(frame[6:]) }

// carriesUDP reports whether a frame of IPv4 or IPv6 carries a UDP datagram or a fragment of one.
// RDMA over Ethernet (RoCEv2) is UDP, too. It does not recognize datagrams of IPv6 with other
// headers before the UDP header.
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
