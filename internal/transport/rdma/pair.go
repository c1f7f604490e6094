package rdma

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// reserved is the number of the receiver's places for messages that only say how many more messages
// may be sent. With one place or none, two ranks that have used all places could each wait for such
// a message. A rank sends one on its own when half of its buffers have been posted since its last
// one. So before it sends a second one, the peer has used half of the buffers again, and for that
// the peer must have received the first.
const reserved = 2

// pair is the state of this rank towards another rank.
type pair struct {
	rank   int
	out    []*outLane // by laneIndex, nil if nothing was put
	in     []*inLane  // likewise
	flags  []flagged  // flags that wait to be written, each for another line
	ready  []*outLane // lanes that can send
	owes   []*inLane  // lanes for which the peer must be told how much was taken
	aside  []*inLane  // lanes with records that wait for the sink
	credit credit
	slots  slots
	taken  uint64           // bytes of operations that the adapter has taken
	dirty  bool             // the pair is in the list of pairs to which something may be sent
	last   []wire.FrameKind // the last word, until it is sent
	pulse  bool             // a write is under way that shows whether the peer's adapter answers
	link   link
	end    end
}

// credit counts the messages and flags that may be sent, from the first one, modulo 2^32.
type credit struct {
	sent   uint32
	limit  uint32 // how many this rank may send, as the peer says
	posted uint32 // how many the peer may send
	told   uint32 // how many the peer knows that it may send
}

// word returns the immediate data of a flag or a message: the number that the receiver may send,
// modulo 2^31, and a bit for a flag.
func (c *credit) word(flag bool) uint32 {
	w := c.posted << 1
	if flag {
		w |= 1
	}
	return w
}

// allowed returns how many may be sent by the peer's word. ok is false if the peer takes some back
// or allows more than most at a time.
func (c *credit) allowed(word uint32, most int) (limit uint32, ok bool) {
	more := int32(word&^1-c.limit<<1) >> 1
	limit = c.limit + uint32(more)
	return limit, more >= 0 && limit-c.sent <= uint32(most)
}

// isFlag reports whether word belongs to a flag and not to a message.
func isFlag(word uint32) bool { return word&1 != 0 }

func (c *credit) left() int { return int(int32(c.limit - c.sent)) }

// slots are the buffers from which a pair's messages and flags are sent, in turn.
type slots struct {
	posted, done uint32 // number of messages and flags
}

// lane returns the sending end of the lane of f.
func (p *pair) lane(f *wire.Frame) *outLane {
	i := laneIndex(f.Lane, f.Comm)
	if i >= len(p.out) {
		p.out = append(p.out, make([]*outLane, i+1-len(p.out))...)
	}
	if p.out[i] == nil {
		p.out[i] = &outLane{lane: f.Lane, comm: f.Comm}
	}
	return p.out[i]
}

// inLane returns the receiving end of the lane of r.
func (p *pair) inLane(r *record) *inLane {
	i := laneIndex(r.Lane, r.Comm)
	if i >= len(p.in) {
		p.in = append(p.in, make([]*inLane, i+1-len(p.in))...)
	}
	if p.in[i] == nil {
		p.in[i] = &inLane{lane: r.Lane, comm: r.Comm}
	}
	return p.in[i]
}

// list adds o to the lanes that can send, if it can.
func (p *pair) list(o *outLane) {
	if !o.listed && !o.idle() && !o.stuck() {
		o.listed = true
		p.ready = append(p.ready, o)
	}
}

// heed records the peer's word of how much of a lane it has taken.
func (p *pair) heed(r *record) bool {
	i := laneIndex(r.Lane, r.Comm)
	if i >= len(p.out) || p.out[i] == nil {
		return false
	}
	o := p.out[i]
	if r.Arg-o.taken > o.sent-o.taken {
		return false
	}
	o.taken = r.Arg
	p.list(o)
	return true
}

// took records that the peer may have to be told how much of l was taken.
func (p *pair) took(l *inLane) bool {
	if l.owing || l.taken-l.told < laneWindow/2 {
		return false
	}
	l.owing = true
	p.owes = append(p.owes, l)
	return true
}

// clear discards everything queued.
func (p *pair) clear() {
	for _, o := range p.out {
		if o != nil {
			o.queue.clear()
			o.cut, o.begun, o.offset, o.listed = false, false, 0, false
		}
	}
	p.ready, p.flags = nil, p.flags[:0]
}

// unwritten returns the number of unsent bytes, frames and flags.
func (p *pair) unwritten() (n int) {
	n = len(p.flags)
	for _, o := range p.out {
		if o != nil {
			n += o.unwritten()
		}
	}
	return n
}

// forget frees the memory of a communicator's lane.
func (p *pair) forget(comm uint8) {
	i := laneIndex(wire.LaneOps, comm)
	if i < len(p.out) && p.out[i] != nil {
		p.out[i].forget()
	}
	if i < len(p.in) && p.in[i] != nil {
		p.in[i].forget()
	}
}

// abandon discards queued frames of a communicator's operations.
func (p *pair) abandon(comm uint8) bool {
	if comm == 0 {
		p.flags = p.flags[:0]
	}
	i := laneIndex(wire.LaneOps, comm)
	if i >= len(p.out) || p.out[i] == nil {
		return false
	}
	o := p.out[i]
	o.abandon()
	if o.listed && o.idle() {
		o.listed = false
		p.ready = slices.DeleteFunc(p.ready, func(r *outLane) bool { return r == o })
	}
	p.list(o)
	return o.listed
}
