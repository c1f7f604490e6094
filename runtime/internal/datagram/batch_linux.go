package datagram

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/internal/fragment"
)

// Datagrams go and come in batches, by sendmmsg and recvmmsg. The batches of
// golang.org/x/net would allocate an address for each datagram received, and
// an error for each read that finds nothing.

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

// outBatch is datagrams on their way out; each is a head and a payload that
// stays where it is. Those that the system has no room for wait in it.
type outBatch struct {
	n     int // datagrams
	gone  int // how many of them are with the system
	heads [][fragment.HeadLen]byte
	iov   [][2]unix.Iovec
	msgs  []mmsghdr
	whole [][]byte // room for datagrams that are sealed
}

func newOutBatch(size, _ int) *outBatch {
	b := &outBatch{heads: make([][fragment.HeadLen]byte, size), iov: make([][2]unix.Iovec, size), msgs: make([]mmsghdr, size)}
	for i := range b.msgs {
		b.iov[i][0].Base = &b.heads[i][0]
		b.iov[i][0].SetLen(fragment.HeadLen)
		b.msgs[i].hdr.Iov = &b.iov[i][0]
	}
	return b
}

// makeWhole makes room for datagrams of so many bytes.
func (b *outBatch) makeWhole(bytes int) {
	b.whole = make([][]byte, len(b.msgs))
	for i := range b.whole {
		b.whole[i] = make([]byte, 0, bytes)
	}
}

func (b *outBatch) full() bool { return b.n == len(b.msgs) }

// address is where a datagram goes that is not sent to the group, as the
// system takes it.
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

// add appends a datagram and returns its head, to be filled in. It goes to to,
// or where the socket is connected to.
func (b *outBatch) add(to *address, payload []byte) *[fragment.HeadLen]byte {
	i := b.next(to)
	if len(payload) > 0 {
		b.iov[i][1].Base = &payload[0]
		b.iov[i][1].SetLen(len(payload))
		b.msgs[i].hdr.SetIovlen(2)
	}
	return &b.heads[i]
}

// next begins a datagram.
func (b *outBatch) next(to *address) int {
	i := b.n
	b.n++
	if to != nil { // it always is, or never
		b.msgs[i].hdr.Name, b.msgs[i].hdr.Namelen = (*byte)(unsafe.Pointer(&to.raw)), to.len
	}
	b.msgs[i].hdr.SetIovlen(1)
	return i
}

// room returns where the next datagram can be put together, for addWhole.
func (b *outBatch) room() []byte { return b.whole[b.n] }

// addWhole appends a datagram that stands in room.
func (b *outBatch) addWhole(to *address, data []byte) {
	i := b.next(to)
	b.iov[i][0].Base = &data[0]
	b.iov[i][0].SetLen(len(data))
}

// empty reports whether nothing waits.
func (b *outBatch) empty() bool { return b.n == 0 }

// send sends what waits from socket fd and returns how many datagrams have
// gone; an error is about the one behind them, which waits as those behind it do.
func (b *outBatch) send(fd int) (int, error) {
	n, err := mmsg(unix.SYS_SENDMMSG, fd, b.msgs[b.gone:b.n])
	if b.gone += n; b.gone == b.n {
		b.clear()
	}
	return n, err
}

// clear takes out what waits, and lets go of the payloads.
func (b *outBatch) clear() {
	for i := range b.iov[:b.n] {
		b.iov[i][1] = unix.Iovec{}
	}
	b.n, b.gone = 0, 0
}

// inBatch is room for datagrams that come in.
type inBatch struct {
	bufs  [][]byte
	names []unix.RawSockaddrInet6
	iov   []unix.Iovec
	msgs  []mmsghdr
}

func newInBatch(size, bytes int) *inBatch {
	b := &inBatch{
		bufs: make([][]byte, size), names: make([]unix.RawSockaddrInet6, size),
		iov: make([]unix.Iovec, size), msgs: make([]mmsghdr, size),
	}
	for i := range b.bufs {
		b.bufs[i] = make([]byte, bytes)
		b.iov[i].Base = &b.bufs[i][0]
		b.iov[i].SetLen(bytes)
		b.msgs[i].hdr.Iov = &b.iov[i]
		b.msgs[i].hdr.SetIovlen(1)
		b.msgs[i].hdr.Name = (*byte)(unsafe.Pointer(&b.names[i]))
	}
	return b
}

func (b *inBatch) size() int { return len(b.msgs) }

// receive reads what is there and returns how many datagrams that are.
func (b *inBatch) receive(fd int) (int, error) {
	for i := range b.msgs {
		b.msgs[i].hdr.Namelen = unix.SizeofSockaddrInet6
	}
	return mmsg(unix.SYS_RECVMMSG, fd, b.msgs)
}

// datagram returns the i-th of those last received, and whether it is whole.
func (b *inBatch) datagram(i int) (data []byte, whole bool) {
	m := &b.msgs[i]
	return b.bufs[i][:m.n], m.hdr.Flags&unix.MSG_TRUNC == 0
}

// from returns where it comes from.
func (b *inBatch) from(i int) netip.AddrPort {
	name := &b.names[i]
	port := binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&name.Port))[:])
	if name.Family == unix.AF_INET {
		v4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(name))
		return netip.AddrPortFrom(netip.AddrFrom4(v4.Addr), port)
	}
	return netip.AddrPortFrom(netip.AddrFrom16(name.Addr), port)
}
