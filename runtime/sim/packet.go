package sim

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// What travels is packets: of datagrams, each with its part of a frame, and of
// lanes. Sizes on the wire count the heads of Ethernet, IP, UDP or TCP, and ours.
const (
	gramHead    = 14 + 20 + 8 + 48
	segmentHead = 14 + 20 + 32
	frameHead   = 40 // of a frame, in the first segment of a lane that carries it
	leastRoom   = 64 // that a datagram takes of a buffer at least
)

type packet struct {
	refs   int
	from   int // rank
	to     int // rank; -1: all others
	size   int // bytes on the wire
	head   wire.Header
	offset int
	body   []byte

	lane  *lane // nil: a datagram
	num   int   // of its segment in the lane
	load  int   // bytes of the lane's window
	first bool  // of its frame
	last  bool
	tries int

	sentAt   Time // when it was last
	confirms bool // num bytes of lane have come, the last in packet offset, which was sent at sentAt
}

// packets are reused with their memory.
type packets struct{ free []*packet }

func (ps *packets) get(h *wire.Header, body []byte) *packet {
	var p *packet
	if n := len(ps.free); n > 0 {
		p, ps.free = ps.free[n-1], ps.free[:n-1]
	} else {
		p = new(packet)
	}
	*p = packet{refs: 1, head: *h, body: append(p.body[:0], body...)}
	return p
}

// put gives one reference back.
func (ps *packets) put(p *packet) {
	if p.refs--; p.refs == 0 {
		ps.free = append(ps.free, p)
	}
}

// way is how p is sent.
func (p *packet) way() Way {
	switch {
	case p.lane != nil:
		return ByPut
	case p.to < 0:
		return ByMulticast
	}
	return ByDatagram
}

// chunk is the number of the chunk that p is of, -1 if it is of none.
func (p *packet) chunk() int {
	if p.head.Slot.Kind() == ir.KindChunk {
		return p.head.Slot.Index()
	}
	return -1
}

// room is what a datagram takes of a receiver's buffer.
func (p *packet) room() int { return max(len(p.body), leastRoom) }
