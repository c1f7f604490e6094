package explore

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// message is a frame under way, or a datagram that carries a part of one.
type message struct {
	header wire.Header
	loose  bool // whether it is a datagram
	offset int
	body   string
}

// comesInParts reports whether the first piece of m can arrive before the others: m is put and
// carries a chunk of several pieces.
func (s *system) comesInParts(m *message) bool {
	h := &m.header
	return s.Parts && m.offset == 0 && len(m.body) > pieceBytes && h.Kind == wire.FrameSlot && h.Slot.Kind() == ir.KindChunk && h.Arg == 0
}

// rest returns what is under way of m, which is put, when its first piece has arrived.
func (m *message) rest() message { return message{m.header, m.loose, pieceBytes, m.body[pieceBytes:]} }

// everybody is the receiver of a multicast.
const everybody = 0xff

// send is one message that a step has sent.
type send struct {
	to    uint8 // rank, or everybody
	loose bool  // by datagram
	flag  bool  // stands in a window, in the line that the message names
	msg   uint32
}

// outbox is the network of one core during one step. It collects what the core sends. Frames leave
// at once.
type outbox struct {
	sys  *system `state:"fixed"`
	sent []send
}

// Put implements [core.Net].
func (b *outbox) Put(to int, f *wire.Frame) {
	b.keep(uint8(to), false, f, 0, f.Body)
	left(f)
}

// Mcast implements [core.Net].
func (b *outbox) Mcast(f *wire.Frame) { b.cut(everybody, f) }

// Datagram implements [core.Net].
func (b *outbox) Datagram(to int, f *wire.Frame) { b.cut(uint8(to), f) }

// cut cuts f into datagrams, as a transport does. A request fits into one datagram.
func (b *outbox) cut(to uint8, f *wire.Frame) {
	size := pieceBytes
	if f.Kind != wire.FrameSlot {
		size = len(f.Body)
	}
	for offset := 0; !b.sys.NoMulticast; {
		end := min(offset+size, len(f.Body))
		b.keep(to, true, f, f.Offset+offset, f.Body[offset:end])
		if offset = end; offset == len(f.Body) {
			break
		}
	}
	left(f)
}

func (b *outbox) keep(to uint8, loose bool, f *wire.Frame, offset int, body []byte) {
	h := f.Header
	h.Len = f.Whole()
	m, copies := message{h, loose, offset, string(body)}, 1
	if b.sys.tamper != nil {
		copies = b.sys.tamper(&m)
	}
	for range copies {
		b.sent = append(b.sent, send{to, loose, false, b.sys.intern(m)})
	}
}

// left records that a frame has left its rank.
func left(f *wire.Frame) {
	f.Release()
}
