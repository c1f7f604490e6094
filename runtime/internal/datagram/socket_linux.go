package datagram

import (
	"os"

	"golang.org/x/sys/unix"
)

// manyGroups: a socket that is connected to one group sends to others, too.
const manyGroups = true

// shareAddress lets all ranks on a host receive at one address; each gets a
// copy of every datagram.
func shareAddress(fd int) error {
	return os.NewSyscallError("setsockopt SO_REUSEADDR", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
}

// bookkeeping is what share of a buffer's size datagrams have at least: the
// system counts what it keeps beside them, too.
const bookkeeping = 2

// setReceiveBuffer asks for more than users are allowed first; what the system
// grants in the end will do.
func setReceiveBuffer(fd int) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, bufferBytes) != nil {
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, bufferBytes)
	}
}

// onlyOwnGroups keeps away what other processes' joins on other interfaces
// bring to the host. It may fail: datagrams of others are dropped anyway.
func onlyOwnGroups(fd, family int) {
	if family == 4 {
		unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_ALL, 0)
	} else {
		unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_ALL, 0)
	}
}

// tellOverruns has a send fail with ENOBUFS when the interface's queue is full
// and drops the datagram: it is full of others' frames, and the socket's own
// buffer does not show it. Without, the datagrams are lost.
func tellOverruns(fd, family int) {
	if family == 4 {
		unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVERR, 1)
	} else {
		unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVERR, 1)
	}
}
