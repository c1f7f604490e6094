package stream

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/transport/tcpopt"
)

// The transport reads and writes bare descriptors: the goroutine inside a call drives them itself,
// with its own poller. Go's net package only establishes connections.

// takeFD returns a descriptor of c's socket that outlives c, and that the caller must close: while
// c is open, its traffic would wake Go's own poller.
func takeFD(c syscall.Conn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd, dupErr := -1, error(nil)
	if err := raw.Control(func(s uintptr) { fd, dupErr = unix.FcntlInt(s, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return -1, err
	}
	if dupErr != nil {
		return -1, os.NewSyscallError("fcntl", dupErr)
	}
	return fd, nil
}

// takeConn turns a new connection into a descriptor that sends at once.
func takeConn(c net.Conn) (int, error) {
	defer c.Close()
	fd, err := takeFD(c.(*net.TCPConn))
	if err != nil {
		return -1, err
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		closeFD(fd)
		return -1, os.NewSyscallError("setsockopt TCP_NODELAY", err)
	}
	hurry(fd)
	return fd, nil
}

// connOf makes a Go connection of a descriptor, which it takes over.
func connOf(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "connection")
	defer f.Close()
	return net.FileConn(f)
}

// bears is how long a peer may confirm nothing. Higher layers find a dead peer sooner; a live
// connection is worth the wait.
const bears = 150 * time.Second

// within reports whether both ends of a connection are on this host, so that traffic goes from
// memory to memory.
func within(fd int) bool {
	own, err := unix.Getsockname(fd)
	if err != nil {
		return false
	}
	peer, err := unix.Getpeername(fd)
	return err == nil && hostOf(own) == hostOf(peer)
}

// hostOf returns the address without its port.
func hostOf(of unix.Sockaddr) netip.Addr {
	switch a := of.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrFrom4(a.Addr)
	case *unix.SockaddrInet6:
		return netip.AddrFrom16(a.Addr).Unmap()
	}
	return netip.Addr{}
}

// hurry makes the system resend lost data soon.
func hurry(fd int) {
	tcpopt.Hurry(fd)
	tcpopt.Bear(fd, bears)
}

func closeFD(fd int) {
	if fd >= 0 {
		unix.Close(fd) // a failure loses nothing
	}
}

// again reports whether err only says that a call would block.
func again(err error) bool { return err == unix.EAGAIN || err == unix.EINTR }

var errEnded = errors.New("it closed the connection without a goodbye")

// read is unix.Read with the end of the stream as an error.
func read(fd int, b []byte) (int, error) {
	n, err := readFD(fd, b)
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, errEnded
	}
	return n, nil
}

// broken reports whether a connection is reset, or was never connected.
func broken(fd int) bool {
	errno, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	return err != nil || errno != 0
}
