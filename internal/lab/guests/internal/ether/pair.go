//go:build unix

package ether

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// Pair returns the two ends of a link: one for a switch, and a file to pass to another process.
// Frames that are sent at one end arrive at the other one by one, and none is lost.
func Pair() (link net.Conn, far *os.File, err error) {
	syscall.ForkLock.RLock()
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM, 0)
	if err == nil {
		syscall.CloseOnExec(ends[0])
		syscall.CloseOnExec(ends[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("make a link: %w", os.NewSyscallError("socketpair", err))
	}
	near := os.NewFile(uintptr(ends[0]), "link")
	far = os.NewFile(uintptr(ends[1]), "link's far end")
	link, err = net.FileConn(near) // has a descriptor of its own
	if err = errors.Join(err, near.Close()); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make a link: %w", err), far.Close())
	}
	return link, far, nil
}

// disconnected reports whether err says that the far end of a link is closed.
func disconnected(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ENOTCONN)
}
