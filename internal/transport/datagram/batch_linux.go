package datagram

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Datagrams are sent and received in batches, by sendmmsg and recvmmsg. The batches of
// golang.org/x/net would allocate an address for each received datagram, and an error for each read
// that finds nothing.
//
// A message of the system is a train: datagrams of one length and one destination. The last one may
// be shorter. A train passes through the system as one packet. It is cut where it enters a link
// that does not take longer packets (UDP_SEGMENT); successive datagrams that arrive are merged
// likewise (UDP_GRO).

// mmsghdr is the system's struct mmsghdr.
type mmsghdr struct {
	hdr unix.Msghdr
	n   uint32
}

func mmsg(trap uintptr, fd int, msgs []mmsghdr) (int, error) {
	n, _, errno := unix.Syscall6(trap, uintptr(fd), uintptr(unsafe.Pointer(&msgs[0])), uintptr(len(msgs)), unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// address is the destination of a datagram that does not go to the connected group, in the system's
// format.
type address struct {
	raw unix.RawSockaddrInet6 // in IPv4 its beginning is a RawSockaddrInet4
	len uint32
}

func newAddress(a netip.AddrPort, zone int) address {
	var to address
	port := (*[2]byte)(unsafe.Pointer(&to.raw.Port))
	binary.BigEndian.PutUint16(port[:], a.Port())
	if a.Addr().Is4() {
		to.raw.Family, to.len = unix.AF_INET, unix.SizeofSockaddrInet4
		(*unix.RawSockaddrInet4)(unsafe.Pointer(&to.raw)).Addr = a.Addr().As4()
		return to
	}
	to.raw.Family, to.len = unix.AF_INET6, unix.SizeofSockaddrInet6
	to.raw.Addr = a.Addr().As16()
	if a.Addr().IsLinkLocalUnicast() {
		to.raw.Scope_id = uint32(zone)
	}
	return to
}
