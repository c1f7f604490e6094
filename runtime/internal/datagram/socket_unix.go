//go:build unix && !linux

package datagram

import (
	"os"

	"golang.org/x/sys/unix"
)

// manyGroups: a socket that is connected to one group sends to no other.
const manyGroups = false

// shareAddress lets all ranks on a host receive at one address; each gets a
// copy of every datagram.
func shareAddress(fd int) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return os.NewSyscallError("setsockopt SO_REUSEADDR", err)
	}
	return os.NewSyscallError("setsockopt SO_REUSEPORT", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
}

// bookkeeping is what share of a buffer's size datagrams have at least.
const bookkeeping = 2

// setReceiveBuffer takes what it can get: systems refuse more than they allow.
func setReceiveBuffer(fd int) {
	for n := bufferBytes; n > 1<<16; n /= 2 {
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, n) == nil {
			return
		}
	}
}

func onlyOwnGroups(int, int) {}

// tellOverruns: these systems tell by themselves, with ENOBUFS.
func tellOverruns(int, int) {}
