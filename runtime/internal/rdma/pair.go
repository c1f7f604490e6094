package rdma

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// reserved is how many places of the receiver are kept for messages that say nothing but
// how many more can come. Were there one or none, two ranks that have used all could each
// wait for the other to say so. A rank says it by itself when half of its buffers have
// been posted since it last did; a second such message therefore means that the peer has
// sent half of them once more meanwhile, which it could only after it had the first.
const reserved = 2

// pair is what this rank has to do with another.
type pair struct {
	rank   int
	out    []*outLane // by laneIndex, nil where nothing was put
	in     []*inLane  // likewise
	flags  []flagged  // that wait to be written, each for another line
	ready  []*outLane // those that can send
	owes   []*inLane  // those of which the peer is to be told how much was taken
	aside  []*inLane  // those of which records wait for the sink
	credit credit
	slots  slots
	taken  uint64           // bytes of operations that the adapter has taken
	dirty  bool             // it is among those to which something may be sent
	last   []wire.FrameKind // the last word, until it is said
	pulse  bool             // a write that finds out whether the peer's adapter answers is on its way
	link   link
	end    end
}

// credit is who may send how many messages, and flags, counted from the first, modulo 2^32.
type credit struct {
	sent   uint32
	limit  uint32 // of those, by the peer's word
	posted uint32 // that the peer may send
	told   uint32 // of which it knows
}

// word is what the immediate data of a flag, or a message, says: how many the receiver
// may send, modulo 2^31, and which of both it is.
func (c *credit) word(flag bool) uint32 {
	w := c.posted << 1
	if flag {
		w |= 1
	}
	return w
}

// allowed returns how many may be sent by the peer's word, and false if it takes some back or
// allows more than the given number at a time.
func (c *credit) allowed(word uint32, most int) (limit uint32, ok bool) {
	more := int32(word&^1-c.limit<<1) >> 1
	limit = c.limit + uint32(more)
	return limit, more >= 0 && limit-c.sent <= uint32(most)
}

// isFlag reports whether a flag has come, and not a message.
func isFlag(word uint32) bool { return word&1 != 0 }

func (c *credit) left() int { return int(int32(c.limit - c.sent)) }

// slots are the buffers that a pair's messages and flags are sent from, used in turn.
type slots struct {
	posted, done uint32 // messages and flags, counted from the first
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

// list puts o among the lanes that can send.
func (p *pair) list(o *outLane) {
	if !o.listed && !o.idle() && !o.stuck() {
		o.listed = true
		p.ready = append(p.ready, o)
	}
}

// heed takes the peer's word of how much of a lane it has taken.
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

// took notes that the peer may have to be told how much of l was taken.
func (p *pair) took(l *inLane) bool {
	if l.owing || l.taken-l.told < laneWindow/2 {
		return false
	}
	l.owing = true
	p.owes = append(p.owes, l)
	return true
}

// clear drops what is queued.
func (p *pair) clear() {
	for _, o := range p.out {
		if o != nil {
			o.queue.clear()
			o.cut, o.begun, o.offset, o.listed = false, false, 0, false
		}
	}
	p.ready, p.flags = nil, p.flags[:0]
}

// unwritten returns how much is not sent: bytes, frames and flags.
func (p *pair) unwritten() (n int) {
	n = len(p.flags)
	for _, o := range p.out {
		if o != nil {
			n += o.unwritten()
		}
	}
	return n
}

// forget gives back the memory of a communicator's lane.
func (p *pair) forget(comm uint8) {
	i := laneIndex(wire.LaneOps, comm)
	if i < len(p.out) && p.out[i] != nil {
		p.out[i].forget()
	}
	if i < len(p.in) && p.in[i] != nil {
		p.in[i].forget()
	}
}

// abandon forgets what is queued of a communicator's operations.
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
