//go:build unix && !linux

package datagram

import (
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/internal/fragment"
)

// outBatch is one datagram on its way out: there are no batches here.
type outBatch struct {
	n    int
	to   *address
	head [fragment.HeadLen]byte
	body []byte
	buf  []byte
	done bool // buf is the datagram already
}

func newOutBatch(_, bytes int) *outBatch { return &outBatch{buf: make([]byte, 0, bytes)} }

// cutBy: a datagram goes by itself here.
func (b *outBatch) cutBy(int) {}

// uncut: it has.
func (b *outBatch) uncut(error) bool { return false }

// makeWhole: there is room already.
func (b *outBatch) makeWhole(int) {}

func (b *outBatch) full() bool { return b.n == 1 }

// address is where a datagram goes that is not sent to the group.
type address struct{ to unix.Sockaddr }

func newAddress(a netip.AddrPort, zone int) address {
	return address{sockaddr(a, &net.Interface{Index: zone})}
}

// add appends a datagram and returns its head, to be filled in. It goes to to,
// or where the socket is connected to.
func (b *outBatch) add(to *address, payload []byte) *[fragment.HeadLen]byte {
	b.n, b.to, b.body, b.done = 1, to, payload, false
	return &b.head
}

// room returns where the next datagram can be put together, for addWhole.
func (b *outBatch) room() []byte { return b.buf[:0] }

// addWhole appends a datagram that stands in room.
func (b *outBatch) addWhole(to *address, data []byte) { b.n, b.to, b.buf, b.done = 1, to, data, true }

// empty reports whether nothing waits.
func (b *outBatch) empty() bool { return b.n == 0 }

// clear takes out what waits.
func (b *outBatch) clear() { b.n, b.body = 0, nil }

// send sends what waits from socket fd and returns how many datagrams have gone; after
// an error it waits still.
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

// inBatch is room for one datagram that comes in.
type inBatch struct {
	buf  []byte
	n    int
	name netip.AddrPort
}

// merge: a datagram comes by itself here.
func merge(int) bool { return false }

func newInBatch(_, bytes int, _ bool) *inBatch { return &inBatch{buf: make([]byte, bytes+1)} }

// receive reads what is there and returns how many datagrams that are, and whether the socket may have more.
func (b *inBatch) receive(fd int) (n int, more bool, err error) {
	n, from, err := unix.Recvfrom(fd, b.buf, unix.MSG_DONTWAIT)
	if err != nil {
		return 0, false, err
	}
	b.n, b.name = n, addrPort(from)
	return 1, true, nil
}

// datagram returns the one last received, and whether it is whole.
func (b *inBatch) datagram(int) (data []byte, whole bool) { return b.buf[:b.n], b.n < len(b.buf) }

// from returns where it comes from.
func (b *inBatch) from(int) netip.AddrPort { return b.name }
