package datagram

import (
	"os"

	"golang.org/x/sys/unix"
)

// manyGroups: a socket that is connected to one group can also send to others.
const manyGroups = true

// shareAddress lets all ranks on a host receive at one address; each gets a copy of every datagram.
func shareAddress(fd int) error {
	return os.NewSyscallError("setsockopt SO_REUSEADDR", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
}

// bookkeeping is the ratio of a buffer's size to its room for datagrams, since the system also
// counts its own data.
const bookkeeping = 2

// setReceiveBuffer first asks for more than users are allowed. It accepts what the system grants.
func setReceiveBuffer(fd int) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, bufferBytes) != nil {
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, bufferBytes)
	}
}

// onlyOwnGroups keeps away datagrams that other processes' joins on other interfaces bring to the
// host. It may fail, since such datagrams are dropped anyway.
func onlyOwnGroups(fd, family int) {
	if family == 4 {
		unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_ALL, 0)
	} else {
		unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_ALL, 0)
	}
}

// tellOverruns makes a send fail with ENOBUFS when the interface's queue, which is full of other
// frames, drops the datagram. The socket's own buffer does not show that. Without this, the
// datagrams are lost silently.
func tellOverruns(fd, family int) {
	if family == 4 {
		unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVERR, 1)
	} else {
		unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVERR, 1)
	}
}
