//go:build unix && !linux

package mcast

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// outBatch is one datagram on its way out: there are no batches here.
type outBatch struct {
	n    int
	head [headerLen]byte
	body []byte
	buf  []byte
}

func newOutBatch(_, bytes int) *outBatch { return &outBatch{buf: make([]byte, 0, headerLen+bytes)} }

func (b *outBatch) full() bool { return b.n == 1 }

// add appends a datagram and returns its head, to be filled in.
func (b *outBatch) add(payload []byte) *[headerLen]byte {
	b.n, b.body = 1, payload
	return &b.head
}

// send sends from the connected socket fd and returns how many datagrams have
// gone; an error is about the one behind them. The batch is empty then.
func (b *outBatch) send(fd int) (int, error) {
	b.buf = append(append(b.buf[:0], b.head[:]...), b.body...)
	b.n, b.body = 0, nil
	if _, err := unix.Write(fd, b.buf); err != nil {
		return 0, err
	}
	return 1, nil
}

// inBatch is room for one datagram that comes in.
type inBatch struct {
	buf  []byte
	n    int
	name netip.AddrPort
}

func newInBatch(_, bytes int) *inBatch { return &inBatch{buf: make([]byte, bytes+1)} }

func (b *inBatch) size() int { return 1 }

// receive reads what is there and returns how many datagrams that are.
func (b *inBatch) receive(fd int) (int, error) {
	n, from, err := unix.Recvfrom(fd, b.buf, unix.MSG_DONTWAIT)
	if err != nil {
		return 0, err
	}
	b.n, b.name = n, addrPort(from)
	return 1, nil
}

// datagram returns the one last received, and whether it is whole.
func (b *inBatch) datagram(int) (data []byte, whole bool) { return b.buf[:b.n], b.n < len(b.buf) }

// from returns where it comes from.
func (b *inBatch) from(int) netip.AddrPort { return b.name }
