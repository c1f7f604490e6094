package rdma

import "github.com/schedgen/schedgen/runtime/wire"

// plan is how registered memory is used: first the window, in whose lines others write
// flags; then a word for each rank, which that rank writes; then the buffers of the reliable
// queue pairs, by rank, each with those that send before those that receive; then those of the
// unreliable one.
type plan struct {
	rank, size      int
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

// planFor chooses so that a few ranks can send much at a time, and that a thousand take
// 64 MiB.
func planFor(rank, size, mtu int) plan {
	p := plan{rank: rank, size: size, message: 8 << 10, sends: 16, receives: 32, gram: mtu, gramSends: gramSends}
	switch {
	case size > 128:
		p.message, p.sends, p.receives = 4<<10, 8, 8
	case size > 32:
		p.sends, p.receives = 8, 16
	}
	p.gramReceives = max(leastGrams, gramBytes/(mtu+GRHLen))
	return p
}

func (p *plan) layout() Layout {
	return Layout{
		Rank: p.rank, Size: p.size, Memory: p.gramReceive(p.gramReceives),
		Sends: p.sends + 1, Receives: p.receives, // 1: a pulse
		GramSends: p.gramSends, GramReceives: p.gramReceives,
	}
}

// line is where the i-th line of the window is.
func (p *plan) line(i int) int { return lineLen * i }

// word is where rank writes.
func (p *plan) word(rank int) int { return p.line(wire.WindowLines) + wordLen*rank }

// pair is where the buffers of the queue pair for rank begin.
func (p *plan) pair(rank int) int {
	if rank > p.rank {
		rank--
	}
	return p.word(p.size) + rank*p.message*(p.sends+p.receives)
}

// send is where the i-th buffer to send to rank from begins.
func (p *plan) send(rank, i int) int { return p.pair(rank) + p.message*i }

// receive is where the i-th buffer for messages of rank begins.
func (p *plan) receive(rank, i int) int { return p.pair(rank) + p.message*(p.sends+i) }

func (p *plan) grams() int {
	return p.word(p.size) + (p.size-1)*p.message*(p.sends+p.receives)
}

// gramSend is where the i-th buffer to send datagrams from begins.
func (p *plan) gramSend(i int) int { return p.grams() + p.gram*i }

// gramReceive is where the i-th buffer for datagrams begins, with what stands before them.
func (p *plan) gramReceive(i int) int { return p.gramSend(p.gramSends) + (GRHLen+p.gram)*i }
