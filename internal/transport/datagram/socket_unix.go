//go:build unix && !linux

package datagram

import (
	"os"

	"golang.org/x/sys/unix"
)

// manyGroups: a socket that is connected to one group cannot send to others.
const manyGroups = false

// shareAddress lets all ranks on a host receive at one address; each gets a copy of every datagram.
func shareAddress(fd int) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return os.NewSyscallError("setsockopt SO_REUSEADDR", err)
	}
	return os.NewSyscallError("setsockopt SO_REUSEPORT", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
}

// bookkeeping is the ratio of a buffer's size to its room for datagrams.
const bookkeeping = 2

// setReceiveBuffer asks for less and less until the system agrees, since it refuses more than it
// allows.
func setReceiveBuffer(fd int) {
	for n := bufferBytes; n > 1<<16; n /= 2 {
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, n) == nil {
			return
		}
	}
}

func onlyOwnGroups(int, int) {}

// tellOverruns does nothing: these systems report overruns anyway, with ENOBUFS.
func tellOverruns(int, int) {}
