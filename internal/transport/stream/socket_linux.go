package stream

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// acceptFD accepts one connection without blocking.
func acceptFD(fd int) (int, error) {
	conn, _, err := unix.Accept4(fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	return conn, err
}

// unacked returns how many bytes the peer's system has not confirmed.
func unacked(fd int) int {
	n, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ)
	if err != nil {
		return 0 // no connection any more
	}
	return n
}

// inFlight returns how many of the sent bytes the peer's system has not confirmed, without bytes
// that wait to be sent.
func inFlight(fd int) int {
	unsent, err := unix.IoctlGetInt(fd, unix.SIOCOUTQNSD)
	if err != nil {
		return 0 // no connection any more
	}
	return max(0, unacked(fd)-unsent)
}

// vector gathers pieces of memory for one write.
type vector struct {
	iov   []unix.Iovec
	bytes int
	small [maxSmall]byte
}

// maxSmall is how many bytes are copied together and sent with one buffer: writev costs more than
// the copy.
const maxSmall = 4 << 10

// maxVector is the greatest number of pieces of one write; Linux allows 1,024.
const maxVector = 256

// maxWrite is about how many bytes one write has at most: Linux writes at most 2 GiB at once, and
// no socket buffer takes nearly as much.
const maxWrite = 1 << 26

func (v *vector) full() bool { return len(v.iov)+2 > maxVector || v.bytes >= maxWrite }

func (v *vector) add(b []byte) {
	if len(b) == 0 {
		return
	}
	p := unix.Iovec{Base: &b[0]}
	p.SetLen(len(b))
	v.iov = append(v.iov, p)
	v.bytes += len(b)
}

// appendTo appends the content of the pieces to b, at most most bytes.
func (v *vector) appendTo(b []byte, most int) []byte {
	for _, p := range v.iov {
		n := min(int(p.Len), most)
		b, most = append(b, unsafe.Slice(p.Base, n)...), most-n
	}
	return b
}

// reset forgets the pieces, so that they can be collected.
func (v *vector) reset() {
	clear(v.iov)
	v.iov, v.bytes = v.iov[:0], 0
}

// write writes the pieces with one system call. unix.Writev would allocate.
func (v *vector) write(fd int) (int, error) {
	if len(v.iov) == 0 {
		return 0, nil
	}
	if v.bytes <= maxSmall {
		return v.send(fd)
	}
	call := unix.Syscall
	if v.bytes <= brief {
		call = unix.RawSyscall
	}
	n, _, errno := call(unix.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(&v.iov[0])), uintptr(len(v.iov)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// send writes a few bytes.
func (v *vector) send(fd int) (int, error) {
	first := v.iov[0].Base
	if len(v.iov) > 1 {
		v.appendTo(v.small[:0], v.bytes)
		first = &v.small[0]
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(first)), uintptr(v.bytes), unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// brief is how many bytes a call on a non-blocking socket may move without telling the Go
// scheduler, which costs about as much as the copy.
const brief = 1 << 15

func readFD(fd int, b []byte) (int, error) {
	if len(b) == 0 || len(b) > brief {
		return unix.Read(fd, b)
	}
	// This is faster than read, which has to pass the layer that sockets share with files.
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// If this rank sends nothing back on a connection, the system confirms reads with a segment of its
// own, which costs half as much as a put. Where nothing is lost the system may take its time, as it
// does where answers carry confirmations: it then confirms every other segment. It forgets this
// after a pause of some milliseconds, so relax repeats the request.
const relaxEvery = 16 // frames

func relax(fd int) {
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_QUICKACK, 0) // otherwise it confirms at once
}
