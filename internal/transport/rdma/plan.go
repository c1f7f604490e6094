package rdma

import "github.com/schedgen/schedgen/runtime/wire"

// plan is the use of registered memory. The region of the rank has, in this order, the window, in
// whose lines others write flags; a word that all others write; and the buffers of the unreliable
// queue pair. The region of a pair has the buffers from which messages are sent, and then the ring
// in which the peer writes.
type plan struct {
	message         int // greatest length of a message in bytes
	sends, receives int // of each reliable queue pair
	gram            int // greatest length of a datagram in bytes
	gramSends       int
	gramReceives    int
}

const (
	lineLen = 64 // length of a wire.Line: a cache line
	wordLen = 64 // likewise

	// gramBytes is the approximate number of bytes of datagrams that are received without a Poll.
	gramBytes    = 4 << 20
	leastGrams   = 256
	gramSends    = 128
	biggestGram  = 4096 // the largest packet of any adapter
	smallestGram = 256  // the smallest
)

// planFor chooses the plan so that few ranks can send much at a time, and so that a rank that puts
// to a thousand others uses 64 MiB.
func planFor(size, mtu int) plan {
	p := plan{message: 8 << 10, sends: 16, receives: 32, gram: mtu, gramSends: gramSends}
	switch {
	case size > 128:
		p.message, p.sends, p.receives = 4<<10, 8, 8
	case size > 32:
		p.sends, p.receives = 8, 16
	}
	p.gramReceives = max(leastGrams, gramBytes/(mtu+GRHLen))
	return p
}

func (p *plan) layout(rank, size int) Layout {
	return Layout{
		Rank: rank, Size: size, Sends: p.sends + 1, Receives: p.receives, // 1: a pulse
		GramSends: p.gramSends, GramReceives: p.gramReceives,
	}
}

// own returns the length of the region of the rank in bytes.
func (p *plan) own() int { return p.gramReceive(p.gramReceives) }

// line returns the offset of the i-th line of the window.
func (p *plan) line(i int) int { return lineLen * i }

// word returns the offset of the word that others write to check whether the adapter answers.
// Nobody reads it.
func (p *plan) word() int { return p.line(wire.WindowLines) }

// gramSend returns the offset of the i-th buffer from which datagrams are sent.
func (p *plan) gramSend(i int) int { return p.word() + wordLen + p.gram*i }

// gramReceive returns the offset of the i-th buffer for datagrams, which starts with room for the
// header.
func (p *plan) gramReceive(i int) int { return p.gramSend(p.gramSends) + (GRHLen+p.gram)*i }

// pair returns the length of the region of a pair in bytes.
func (p *plan) pair() int { return p.receive(p.receives) }

// send returns the offset of the i-th sending buffer.
func (p *plan) send(i int) int { return p.message * i }

// receive returns the offset of the i-th place of the ring.
func (p *plan) receive(i int) int { return p.message * (p.sends + i) }
