package datagram

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system merges arriving trains up to wholeTrain bytes, whatever the sender's length. A batch
// has room for mergedMost of them.
const (
	wholeTrain = 1 << 16
	mergedMost = 32
)

// inBatch is room for arriving datagrams, in trains.
type inBatch struct {
	bufs     [][]byte
	names    []unix.RawSockaddrInet6
	iov      []unix.Iovec
	controls []merged
	msgs     []mmsghdr
	parts    []part // the last arrivals, one for each datagram
}

// part is one datagram of a batch.
type part struct {
	msg      int
	from, to int // range in the message's bytes
}

// merged is a control message with the length of the datagrams that the system has merged.
type merged struct {
	head   unix.Cmsghdr
	length int32
	_      [4]byte // padding, as for CMSG_SPACE
}

// merge makes the system merge successive datagrams that arrive at socket fd. It reports whether it
// does.
func merge(fd int) bool { return unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1) == nil }

// newInBatch makes room for size datagrams of the given length, or for trains of them if merges is
// set.
func newInBatch(size, bytes int, merges bool) *inBatch {
	if merges {
		size, bytes = min(size, mergedMost), max(bytes, wholeTrain)
	}
	b := &inBatch{
		bufs: make([][]byte, size), names: make([]unix.RawSockaddrInet6, size),
		iov: make([]unix.Iovec, size), controls: make([]merged, size), msgs: make([]mmsghdr, size),
	}
	for i := range b.bufs {
		b.bufs[i] = make([]byte, bytes)
		b.iov[i].Base = &b.bufs[i][0]
		b.iov[i].SetLen(bytes)
		b.msgs[i].hdr.Iov = &b.iov[i]
		b.msgs[i].hdr.SetIovlen(1)
		b.msgs[i].hdr.Name = (*byte)(unsafe.Pointer(&b.names[i]))
		b.msgs[i].hdr.Control = (*byte)(unsafe.Pointer(&b.controls[i]))
	}
	return b
}

// receive reads the arrivals. It returns the number of datagrams, and whether the socket may have
// more.
func (b *inBatch) receive(fd int) (n int, more bool, err error) {
	for i := range b.msgs {
		b.msgs[i].hdr.Namelen = unix.SizeofSockaddrInet6
		b.msgs[i].hdr.SetControllen(int(unsafe.Sizeof(b.controls[i])))
	}
	b.parts = b.parts[:0]
	came, err := mmsg(unix.SYS_RECVMMSG, fd, b.msgs)
	for i := range came {
		b.cut(i)
	}
	return len(b.parts), came == len(b.msgs), err
}

// cut appends the datagrams of message i.
func (b *inBatch) cut(i int) {
	all, each := int(b.msgs[i].n), b.length(i)
	for from := 0; from == 0 || from < all; from += each {
		b.parts = append(b.parts, part{i, from, min(from+each, all)})
	}
}

// length returns the length of all datagrams of message i except the last.
func (b *inBatch) length(i int) int {
	m, c := &b.msgs[i], &b.controls[i]
	if int(m.hdr.Controllen) >= unix.CmsgLen(4) && c.head.Level == unix.SOL_UDP && c.head.Type == unix.UDP_GRO && c.length > 0 {
		return int(c.length)
	}
	return max(1, int(m.n))
}

// datagram returns the i-th received datagram, and whether it is whole.
func (b *inBatch) datagram(i int) (data []byte, whole bool) {
	p := &b.parts[i]
	return b.bufs[p.msg][p.from:p.to], b.msgs[p.msg].hdr.Flags&unix.MSG_TRUNC == 0
}

// from returns the sender of the i-th datagram.
func (b *inBatch) from(i int) netip.AddrPort {
	name := &b.names[b.parts[i].msg]
	port := binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&name.Port))[:])
	if name.Family == unix.AF_INET {
		v4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(name))
		return netip.AddrPortFrom(netip.AddrFrom4(v4.Addr), port)
	}
	return netip.AddrPortFrom(netip.AddrFrom16(name.Addr), port)
}
