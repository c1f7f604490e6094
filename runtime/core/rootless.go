package core

import (
	"github.com/schedgen/schedgen/runtime/core/presence"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Overlay says where rootless messages go; see package schedule.
type Overlay interface {
	// Channels appends to dst the ranks to which rank may send, without duplicates.
	Channels(dst []int, rank int) []int
	// Forward appends to dst the ranks to which rank passes on a message of origin that came from
	// rank from. For its own message, rank == origin == from.
	Forward(dst []int, rank, origin, from int) []int
}

// Message is a rootless message. Data belongs to the receiver.
type Message struct {
	Origin int    // the rank that published it
	Seq    uint64 // its number among the origin's messages, from 0
	Data   []byte
}

// rootless holds the messages that any rank publishes at any time (paper 001). A message of an
// origin goes down the origin's tree in the overlay. Credits come back up the tree: the number of
// messages that the whole sub-tree has consumed, cumulative like the acknowledgements of paper 002.
// An origin has a bounded number of messages and bytes under way, so every rank can always take a
// message that comes. Ranks never hold messages back, because the channels of the overlay form
// cycles, in which they could then block for ever.
type rootless struct {
	*env
	fate    *failure
	members *presence.Roster

	origins  []*origin // made when first heard of
	incoming []*parcel // sender -> the message that has come in part
	inbox    inbox
	own      sender

	listening bool  // the process waits, or has waited, for messages
	sources   []int // ranks that send messages here; valid if sought
	sought    bool

	published uint64
	delivered uint64
}

// origin is the state of one rank's messages at this rank.
type origin struct {
	from     int      // the parent in its tree; -1 before the first message, and for this rank's own
	branches []branch // children to which its messages go
	next     uint64   // the message expected next
	consumed uint64   // this process has taken the messages before this one
	step     uint64   // the part of consumed that counts for credits
	bytes    int      // bytes consumed since step was last set
	waiting  int      // bytes in the inbox
	passed   uint64   // credit passed to the parent
	question question
}

// branch is a rank to which an origin's messages go from here, and the state of its whole sub-tree.
type branch struct {
	rank   int
	via    int // the rank that sends there: this rank, or a rank that has left; see relay.go
	state  branchState
	credit uint64 // the sub-tree has consumed the messages before this one
	here   uint64 // the messages before this one have arrived in the sub-tree; see flush.go
	passed uint64 // rank has passed on the messages before this one, as it said when it left
}

// parcel is a message on its way through this rank.
type parcel struct {
	data   []byte
	unsent int // children to which it has not been handed over
}

// came returns the number of a rank's messages that have arrived here.
func (rl *rootless) came(origin int) uint64 {
	if o := rl.origins[origin]; o != nil {
		return o.next
	}
	return 0
}

func (rl *rootless) mail() int { return rl.inbox.len() }

func (rl *rootless) count() (sent, taken uint64) { return rl.published, rl.delivered }

func (rl *rootless) init() {
	rl.origins = make([]*origin, rl.Size)
	rl.incoming = make([]*parcel, rl.Size)
	rl.own.init(rl.origin(rl.Rank), rl.PublishWindow)
}

// origin returns the state of rank's messages.
func (rl *rootless) origin(rank int) *origin {
	o := rl.origins[rank]
	if o == nil {
		o = &origin{from: -1}
		if rank == rl.Rank {
			rl.branch(o, rank, rank)
		}
		rl.origins[rank] = o
	}
	return o
}

// branch adds the branches of rank's messages, which come here from rank from.
func (rl *rootless) branch(o *origin, rank, from int) {
	for _, to := range rl.Overlay.Forward(nil, rl.Rank, rank, from) {
		o.branches = append(o.branches, branch{rank: to, via: rl.Rank})
		if rl.members.Gone(to) {
			o.branches[len(o.branches)-1].state = branchLeft
		}
	}
}

// credited returns the number of messages that the whole sub-tree has consumed. self is the number
// at this rank.
func (o *origin) credited(self uint64) uint64 {
	for i := range o.branches {
		if b := &o.branches[i]; b.state == branchThere {
			self = min(self, b.credit)
		}
	}
	return self
}

// buffer decides where the body of a message goes.
func (rl *rootless) buffer(h *wire.Header) ([]byte, wire.Verdict) {
	if p := rl.incoming[h.From]; p != nil {
		return p.data, wire.Accept // called again for a later part of the message
	}
	if h.Print != rl.PublishPrint {
		rl.fate.disagree(h)
		return nil, wire.Drop
	}
	if int(h.Arg) >= rl.Size || int(h.Arg) == rl.Rank || h.Len > rl.MaxMessage {
		rl.fate.violation(h, "message of origin %d with %d bytes", h.Arg, h.Len)
		return nil, wire.Drop
	}
	o := rl.origin(int(h.Arg))
	switch {
	case o.from >= 0 && o.from != h.From:
		rl.fate.violation(h, "message of origin %d, which comes by rank %d", h.Arg, o.from)
	case h.Seq != o.next:
		rl.fate.violation(h, "message %d of origin %d instead of %d", h.Seq, h.Arg, o.next)
	case o.next-o.consumed >= uint64(rl.PublishWindow) || o.waiting >= rl.PublishBytes+rl.MaxMessage:
		rl.fate.violation(h, "origin %d sends more than its window", h.Arg)
	default:
		p := &parcel{data: make([]byte, h.Len)}
		rl.incoming[h.From] = p
		return p.data, wire.Accept
	}
	return nil, wire.Drop
}

// arrived takes a message whose body is in its buffer.
func (rl *rootless) arrived(h *wire.Header) {
	p := rl.incoming[h.From]
	rl.incoming[h.From] = nil
	o := rl.origin(int(h.Arg))
	if o.from < 0 {
		o.from = h.From
		rl.branch(o, int(h.Arg), h.From)
	}
	o.next++
	o.waiting += len(p.data)
	rl.forward(o, int(h.Arg), h.Seq, p)
	rl.inbox.push(letter{origin: int(h.Arg), seq: h.Seq, parcel: p})
	rl.inquire(o, int(h.Arg))
}

// forward sends p to the children in the tree of rank. If a child that would pass it on has left,
// the core fails.
func (rl *rootless) forward(o *origin, rank int, seq uint64, p *parcel) {
	if rl.cut(o, rank, seq+1) {
		return
	}
	f := &rl.frame
	for i := range o.branches {
		b := &o.branches[i]
		if b.state != branchThere {
			continue
		}
		*f = wire.Frame{
			Header: wire.Header{
				Kind: wire.FramePublish, Lane: wire.LaneControl, Epoch: rl.Epoch, Seq: seq, Arg: uint32(rank),
				Print: rl.PublishPrint, Len: len(p.data), From: rl.Rank,
			},
			Body: p.data, Unsent: &p.unsent,
		}
		p.unsent++
		rl.put(b.rank, f)
	}
}

// take gives the oldest message to the process, which owns the bytes from then on. They are copied
// only if the transport has not passed them on yet.
func (rl *rootless) take() Message {
	l := rl.inbox.pop()
	data := l.parcel.data
	if l.parcel.unsent > 0 {
		data = append(make([]byte, 0, len(data)), data...)
	}
	o := rl.origins[l.origin]
	o.consumed++
	o.bytes += len(data)
	o.waiting -= len(data)
	rl.delivered++
	if o.consumed-o.step >= uint64(max(1, rl.PublishWindow/4)) || o.bytes >= rl.PublishBytes/4 {
		o.step, o.bytes = o.consumed, 0
		rl.tell(o, l.origin)
	}
	return Message{Origin: l.origin, Seq: l.seq, Data: data}
}

// branchTo returns the branch of a rank, or nil if there is none.
func (o *origin) branchTo(rank int) *branch {
	for i := range o.branches {
		if o.branches[i].rank == rank {
			return &o.branches[i]
		}
	}
	return nil
}

// acknowledged and asked take frames that only multicasts have. Their sender uses another
// algorithm.
func (rl *rootless) acknowledged(h *wire.Header) { rl.unlike(h) }
func (rl *rootless) asked(h *wire.Header)        { rl.unlike(h) }

func (rl *rootless) unlike(h *wire.Header) {
	if h.Print != rl.PublishPrint {
		rl.fate.disagree(h)
		return
	}
	rl.fate.violation(h, "frame kind %d about messages that are put", h.Kind)
}

// tell sends credit to the parent if there is more than the parent knows.
func (rl *rootless) tell(o *origin, rank int) {
	if n := o.credited(o.step); n > o.passed && o.from >= 0 && rl.fate.err == nil && !rl.members.Gone(o.from) {
		o.passed = n
		rl.control(o.from, wire.FrameCredit, n, rl.PublishPrint, uint32(rank))
	}
}

// credited takes a child's credit.
func (rl *rootless) credited(h *wire.Header) {
	if int(h.Arg) >= rl.Size || h.Print != rl.PublishPrint {
		rl.fate.violation(h, "credit for origin %d", h.Arg)
		return
	}
	o := rl.origin(int(h.Arg))
	b := o.branchTo(h.From)
	if b == nil || h.Seq > o.next {
		rl.fate.violation(h, "credit for %d messages of origin %d", h.Seq, h.Arg)
		return
	}
	b.credit = max(b.credit, h.Seq)
	if int(h.Arg) != rl.Rank {
		rl.tell(o, int(h.Arg))
	}
}
