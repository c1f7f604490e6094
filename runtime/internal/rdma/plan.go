package rdma

import "github.com/schedgen/schedgen/runtime/wire"

// plan is how registered memory is used. A region of the rank has first the window, in whose lines
// others write flags; then a word, which all others write; then the buffers of the
// unreliable queue pair. A region of each pair has the buffers that its messages are sent from
// before the ring in which the peer writes.
type plan struct {
	message         int // bytes of a message
	sends, receives int // of each reliable queue pair
	gram            int // bytes of a datagram
	gramSends       int
	gramReceives    int
}

const (
	lineLen = 64 // of a wire.Line: a cache line
	wordLen = 64 // likewise

	// gramBytes is about how many bytes of datagrams are taken in without a Poll.
	gramBytes    = 4 << 20
	leastGrams   = 256
	gramSends    = 128
	biggestGram  = 4096 // the largest packet of any adapter
	smallestGram = 256  // the smallest
)

// planFor chooses so that a few ranks can send much at a time, and that one that puts to a
// thousand takes 64 MiB.
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

// own is how many bytes the region of the rank has.
func (p *plan) own() int { return p.gramReceive(p.gramReceives) }

// line is where the i-th line of the window is.
func (p *plan) line(i int) int { return lineLen * i }

// word is where others write to find out whether the adapter is there. Nobody reads it.
func (p *plan) word() int { return p.line(wire.WindowLines) }

// gramSend is where the i-th buffer to send datagrams from begins.
func (p *plan) gramSend(i int) int { return p.word() + wordLen + p.gram*i }

// gramReceive is where the i-th buffer for datagrams begins, with what stands before them.
func (p *plan) gramReceive(i int) int { return p.gramSend(p.gramSends) + (GRHLen+p.gram)*i }

// pair is how many bytes the region of a pair has.
func (p *plan) pair() int { return p.receive(p.receives) }

// send is where the i-th buffer to send from begins.
func (p *plan) send(i int) int { return p.message * i }

// receive is where the i-th place of the ring begins.
func (p *plan) receive(i int) int { return p.message * (p.sends + i) }
