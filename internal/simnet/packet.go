package simnet

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Lengths of packets in bytes. A packet carries a datagram, with its part of a frame, or a segment
// of a lane. Lengths on the wire include the headers of Ethernet, IP, UDP or TCP, and this program.
const (
	gramHead    = 14 + 20 + 8 + 48
	segmentHead = 14 + 20 + 32
	frameHead   = 40 // of a frame, in the first of its segments in a lane
	leastRoom   = 64 // least number of bytes that a datagram takes of a buffer
)

type packet struct {
	refs   int
	from   int // rank
	to     int // rank; -1: all others
	size   int // bytes on the wire
	head   wire.Header
	offset int
	body   []byte

	lane  *lane // nil for a datagram
	num   int   // of its segment in the lane
	load  int   // bytes of the lane's window
	first bool  // first segment of its frame
	last  bool
	tries int

	sentAt   Time // time of the last transmission
	confirms bool // num bytes of lane have arrived, the last ones in packet offset, sent at sentAt
}

// packets reuses packets with their memory.
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

// put releases one reference.
func (ps *packets) put(p *packet) {
	if p.refs--; p.refs == 0 {
		ps.free = append(ps.free, p)
	}
}

// way returns how p is sent.
func (p *packet) way() Way {
	switch {
	case p.lane != nil:
		return ByPut
	case p.to < 0:
		return ByMulticast
	}
	return ByDatagram
}

// chunk returns the number of the chunk that p belongs to, or -1.
func (p *packet) chunk() int {
	if p.head.Slot.Kind() == ir.KindChunk {
		return p.head.Slot.Index()
	}
	return -1
}

// room returns the bytes that a datagram takes of a receiver's buffer.
func (p *packet) room() int { return max(len(p.body), leastRoom) }
