package stream

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/internal/tcpopt"
)

// The transport reads and writes bare descriptors: the goroutine that is
// inside a call drives them itself, through its own poller. Go's net package
// only establishes connections.

// takeFD returns a descriptor of c's socket that outlives c, which the caller
// closes: as long as c is open, Go's own poller would be woken by its traffic.
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

// connOf makes a connection of Go's of a descriptor, which it takes over.
func connOf(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "connection")
	defer f.Close()
	return net.FileConn(f)
}

// bears is how long a peer may confirm nothing. That it is dead is found out above, and sooner; a
// connection that lives is worth waiting for.
const bears = 150 * time.Second

// within reports whether both ends of a connection are on this host, where what is sent goes
// from memory to memory.
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

// hurry has the system send again soon what is lost.
func hurry(fd int) {
	tcpopt.Hurry(fd)
	tcpopt.Bear(fd, bears)
}

func closeFD(fd int) {
	if fd >= 0 {
		unix.Close(fd) // nothing can be done, and nothing is lost, if it fails
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

// broken reports whether a connection is reset, or was never one.
func broken(fd int) bool {
	errno, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	return err != nil || errno != 0
}
