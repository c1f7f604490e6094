//go:build unix && !linux

package datagram

import (
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/transport/fragment"
)

// outBatch is one outgoing datagram: this system has no batches.
type outBatch struct {
	n    int
	to   *address
	head [fragment.HeadLen]byte
	body []byte
	buf  []byte
	done bool // buf already holds the datagram
}

func newOutBatch(_, bytes int) *outBatch { return &outBatch{buf: make([]byte, 0, bytes)} }

// cutBy does nothing: each datagram is sent separately.
func (b *outBatch) cutBy(int) {}

// uncut does nothing: each datagram was sent separately.
func (b *outBatch) uncut(error) bool { return false }

// makeWhole does nothing: there is room already.
func (b *outBatch) makeWhole(int) {}

func (b *outBatch) full() bool { return b.n == 1 }

// address is the destination of a datagram that does not go to the connected group.
type address struct{ to unix.Sockaddr }

func newAddress(a netip.AddrPort, zone int) address {
	return address{sockaddr(a, &net.Interface{Index: zone})}
}

// add appends a datagram and returns its head, to be filled in. The datagram goes to address to, or
// to the socket's connected address if to is nil.
func (b *outBatch) add(to *address, payload []byte) *[fragment.HeadLen]byte {
	b.n, b.to, b.body, b.done = 1, to, payload, false
	return &b.head
}

// room returns memory for the next datagram of addWhole.
func (b *outBatch) room() []byte { return b.buf[:0] }

// addWhole appends a datagram that lies in room.
func (b *outBatch) addWhole(to *address, data []byte) { b.n, b.to, b.buf, b.done = 1, to, data, true }

// empty reports whether no datagram waits.
func (b *outBatch) empty() bool { return b.n == 0 }

// clear removes the datagram.
func (b *outBatch) clear() { b.n, b.body = 0, nil }

// send sends the waiting datagram from socket fd and returns how many have gone. After an error it
// still waits.
func (b *outBatch) send(fd int) (n int, err error) {
	if !b.done {
		b.buf = append(append(b.buf[:0], b.head[:]...), b.body...)
	}
	if b.to != nil {
		err = unix.Sendto(fd, b.buf, 0, b.to.to)
	} else {
		_, err = unix.Write(fd, b.buf)
	}
	if err != nil {
		return 0, err
	}
	b.clear()
	return 1, nil
}

// inBatch is room for one arriving datagram.
type inBatch struct {
	buf  []byte
	n    int
	name netip.AddrPort
}

// merge does nothing: each datagram arrives separately.
func merge(int) bool { return false }

func newInBatch(_, bytes int, _ bool) *inBatch { return &inBatch{buf: make([]byte, bytes+1)} }

// receive reads the arrivals. It returns the number of datagrams, and whether the socket may have
// more.
func (b *inBatch) receive(fd int) (n int, more bool, err error) {
	n, from, err := unix.Recvfrom(fd, b.buf, unix.MSG_DONTWAIT)
	if err != nil {
		return 0, false, err
	}
	b.n, b.name = n, addrPort(from)
	return 1, true, nil
}

// datagram returns the received datagram, and whether it is whole.
func (b *inBatch) datagram(int) (data []byte, whole bool) { return b.buf[:b.n], b.n < len(b.buf) }

// from returns the sender of the received datagram.
func (b *inBatch) from(int) netip.AddrPort { return b.name }
