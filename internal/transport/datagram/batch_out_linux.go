package datagram

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/transport/fragment"
)

// trainBytes is the greatest length of a train, and trainMost the greatest number of its datagrams,
// which is the lowest limit of any Linux. A longer train would save little, and the datagrams after
// it would wait longer for a slow link: 16 KiB take 1.3 ms at 100 Mbit/s.
const (
	trainBytes = 16 << 10
	trainMost  = 64
)

// outBatch is outgoing datagrams, each a head and a payload that is not copied. Datagrams that the
// system has no room for wait in it.
type outBatch struct {
	n     int // datagrams
	heads [][fragment.HeadLen]byte
	iov   [][2]unix.Iovec
	whole [][]byte // room for sealed datagrams

	most   int // greatest number of datagrams in a train; 1 if the system does not cut trains
	used   int // number of trains
	gone   int // trains that the system has taken
	trains []train
	msgs   []mmsghdr // one for each train
}

// train is datagrams that form one message.
type train struct {
	n      int // datagrams
	length int // length of each datagram except the last
	closed bool
	to     *address
	cut    segment
}

// segment is a control message that says how the system cuts a train.
type segment struct {
	head   unix.Cmsghdr
	length uint16
	_      [6]byte // padding, as for CMSG_SPACE
}

func newOutBatch(size, _ int) *outBatch {
	b := &outBatch{
		heads: make([][fragment.HeadLen]byte, size), iov: make([][2]unix.Iovec, size),
		most: 1, trains: make([]train, size), msgs: make([]mmsghdr, size),
	}
	for i := range b.iov {
		b.iov[i][0].Base = &b.heads[i][0]
		b.iov[i][0].SetLen(fragment.HeadLen)
	}
	for i := range b.trains {
		cut := &b.trains[i].cut
		cut.head.Level, cut.head.Type = unix.SOL_UDP, unix.UDP_SEGMENT
		cut.head.SetLen(unix.CmsgLen(int(unsafe.Sizeof(cut.length))))
	}
	return b
}

// cutBy allows trains of several datagrams if the system cuts what socket fd sends.
func (b *outBatch) cutBy(fd int) {
	if _, err := unix.GetsockoptInt(fd, unix.SOL_UDP, unix.UDP_SEGMENT); err == nil {
		b.most = trainMost
	}
}

// makeWhole makes room for sealed datagrams of the given length.
func (b *outBatch) makeWhole(bytes int) {
	b.whole = make([][]byte, len(b.msgs))
	for i := range b.whole {
		b.whole[i] = make([]byte, 0, bytes)
	}
}

func (b *outBatch) full() bool { return b.n == len(b.heads) }

// empty reports whether no datagram waits.
func (b *outBatch) empty() bool { return b.n == 0 }

// add appends a datagram and returns its head, to be filled in. The datagram goes to address to, or
// to the socket's connected address if to is nil.
func (b *outBatch) add(to *address, payload []byte) *[fragment.HeadLen]byte {
	i := b.next(to, fragment.HeadLen+len(payload))
	if len(payload) > 0 {
		b.iov[i][1].Base = &payload[0]
		b.iov[i][1].SetLen(len(payload))
	}
	return &b.heads[i]
}

// room returns memory for the next datagram of addWhole.
func (b *outBatch) room() []byte { return b.whole[b.n] }

// addWhole appends a datagram that lies in room.
func (b *outBatch) addWhole(to *address, data []byte) {
	i := b.next(to, len(data))
	b.iov[i][0].Base = &data[0]
	b.iov[i][0].SetLen(len(data))
}

// next begins a datagram of the given length, in the last train if it fits.
func (b *outBatch) next(to *address, length int) int {
	i := b.n
	b.n++
	if b.used > 0 && b.trains[b.used-1].take(to, length, b.most) {
		m, t := &b.msgs[b.used-1].hdr, &b.trains[b.used-1]
		m.SetIovlen(2 * t.n)
		m.Control = (*byte)(unsafe.Pointer(&t.cut))
		m.SetControllen(int(unsafe.Sizeof(t.cut)))
		return i
	}
	m, t := &b.msgs[b.used].hdr, &b.trains[b.used]
	b.used++
	t.n, t.length, t.closed, t.to = 1, length, false, to
	*m = unix.Msghdr{Iov: &b.iov[i][0]}
	m.SetIovlen(2)
	if to != nil {
		m.Name, m.Namelen = (*byte)(unsafe.Pointer(&to.raw)), to.len
	}
	return i
}

// take adds a datagram to t if it fits, and reports whether it has.
func (t *train) take(to *address, length, most int) bool {
	if t.n == most || t.closed || t.to != to || length > t.length || (t.n+1)*t.length > trainBytes {
		return false
	}
	t.n++
	t.closed = length < t.length
	t.cut.length = uint16(t.length)
	return true
}

// send sends waiting datagrams from socket fd and returns how many have gone. An error is about the
// next datagram, which goes on waiting, like all datagrams after it.
func (b *outBatch) send(fd int) (n int, err error) {
	trains, err := mmsg(unix.SYS_SENDMMSG, fd, b.msgs[b.gone:b.used])
	for _, t := range b.trains[b.gone : b.gone+trains] {
		n += t.n
	}
	if b.gone += trains; b.gone == b.used {
		b.clear()
	}
	return n, err
}

// uncut handles the refusal of a train: it removes the waiting datagrams, and sends each datagram
// separately from now on. It reports whether err was such a refusal. A socket may accept trains
// that its interface does not.
func (b *outBatch) uncut(err error) bool {
	if b.empty() || b.trains[b.gone].n == 1 || err != unix.EIO && err != unix.EINVAL && err != unix.EMSGSIZE {
		return false
	}
	b.most = 1
	b.clear()
	return true
}

// clear removes all datagrams and releases the payloads.
func (b *outBatch) clear() {
	for i := range b.iov[:b.n] {
		b.iov[i][1] = unix.Iovec{}
	}
	b.n, b.used, b.gone = 0, 0, 0
}
