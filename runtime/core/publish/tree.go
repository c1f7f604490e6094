package publish

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/core/internal/moment"
	"github.com/schedgen/schedgen/runtime/wire"
)

// tree holds messages that are put from rank to rank (paper 001). A message of an origin goes down
// the origin's tree in the overlay. Credits come back up the tree: the number of messages that the
// whole sub-tree has consumed, cumulative like the acknowledgements of paper 002. An origin has a
// bounded number of messages and bytes under way, so every rank can always take a message that
// comes. Ranks never hold messages back, because the channels of the overlay form cycles, in which
// they could then block for ever.
type tree struct {
	end
	origins []*origin // made when first heard of
	own     sender
	sources []int // ranks that send messages here; valid if sought
	sought  bool
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
	via    int // the rank that sends there: this rank, or a rank that has left; see tree_leave.go
	state  branchState
	credit uint64 // the sub-tree has consumed the messages before this one
	here   uint64 // the messages before this one have arrived in the sub-tree; see tree_flush.go
	passed uint64 // rank has passed on the messages before this one, as it said when it left
}

// sender is this rank as an origin. It holds a window of messages that have not been consumed
// everywhere. It uses a parcel's memory again when its message has left the window, because then
// all children have the message.
type sender struct {
	origin  *origin
	bytes   uint64   // bytes of all messages so far
	before  []uint64 // message, modulo the window -> bytes of all messages before it
	parcels []parcel
}

func newTree(e end) *tree {
	t := &tree{end: e, origins: make([]*origin, e.Size)}
	t.own = sender{origin: t.origin(t.Rank), before: make([]uint64, t.Window), parcels: make([]parcel, t.Window)}
	return t
}

// Came implements [Messages].
func (t *tree) Came(origin int) uint64 {
	if o := t.origins[origin]; o != nil {
		return o.next
	}
	return 0
}

// origin returns the state of rank's messages.
func (t *tree) origin(rank int) *origin {
	o := t.origins[rank]
	if o == nil {
		o = &origin{from: -1}
		if rank == t.Rank {
			t.branch(o, rank, rank)
		}
		t.origins[rank] = o
	}
	return o
}

// branch adds the branches of rank's messages, which come here from rank from.
func (t *tree) branch(o *origin, rank, from int) {
	for _, to := range t.Overlay.Forward(nil, t.Rank, rank, from) {
		o.branches = append(o.branches, branch{rank: to, via: t.Rank})
		if t.members.Gone(to) {
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

// HasRoom implements [Messages].
func (t *tree) HasRoom() bool {
	s := &t.own
	next := s.origin.next
	done := s.origin.credited(next)
	if done == next {
		return true
	}
	window := uint64(len(s.before))
	return next-done < window && s.bytes-s.before[done%window] < uint64(t.Bytes)
}

// Publish implements [Messages]. If msg cannot reach all ranks, the communicator fails.
func (t *tree) Publish(msg []byte) {
	s := &t.own
	seq := s.origin.next
	i := seq % uint64(len(s.parcels))
	p := &s.parcels[i]
	p.data = append(p.data[:0], msg...)
	s.before[i] = s.bytes
	s.bytes += uint64(len(msg))
	s.origin.next++
	t.counts.Published++
	t.forward(s.origin, t.Rank, seq, p)
}

// Body implements [Messages].
func (t *tree) Body(h *wire.Header) ([]byte, wire.Verdict) {
	if p := t.incoming[h.From]; p != nil {
		return p.data, wire.Accept // called again for a later part of the message
	}
	if !t.accepts(h) {
		return nil, wire.Drop
	}
	o := t.origin(int(h.Arg))
	switch {
	case o.from >= 0 && o.from != h.From:
		t.host.Violation(h, "unexpected message of origin %d, which comes by rank %d", h.Arg, o.from)
	case h.Seq != o.next:
		t.host.Violation(h, "message %d of origin %d instead of %d", h.Seq, h.Arg, o.next)
	case o.next-o.consumed >= uint64(t.Window) || o.waiting >= t.Bytes+t.MaxMessage:
		t.host.Violation(h, "origin %d sends more than its window", h.Arg)
	default:
		p := &parcel{data: make([]byte, h.Len)}
		t.incoming[h.From] = p
		return p.data, wire.Accept
	}
	return nil, wire.Drop
}

// Arrived implements [Messages].
func (t *tree) Arrived(h *wire.Header) {
	switch h.Kind {
	case wire.FramePublish:
		t.arrived(h)
	case wire.FrameCredit:
		t.credited(h)
	case wire.FrameFlush:
		t.questioned(h)
	case wire.FrameFlushed:
		t.answered(h)
	case wire.FramePassed:
		t.passedOn(h)
	case wire.FrameListen:
		if h.Print != t.Print {
			t.host.Disagree(h)
		}
	default:
		t.refuse(h, "put")
	}
}

// Fragment implements [Messages]: no message is multicast.
func (t *tree) Fragment(*wire.Header, int, []byte) bool { return false }

// arrived takes a message whose body is in its buffer.
func (t *tree) arrived(h *wire.Header) {
	p := t.incoming[h.From]
	t.incoming[h.From] = nil
	o := t.origin(int(h.Arg))
	if o.from < 0 {
		o.from = h.From
		t.branch(o, int(h.Arg), h.From)
	}
	o.next++
	o.waiting += len(p.data)
	t.forward(o, int(h.Arg), h.Seq, p)
	t.inbox.push(letter{origin: int(h.Arg), seq: h.Seq, parcel: p})
	t.inquire(o, int(h.Arg))
}

// forward sends p to the children in the tree of rank. If a child that would pass it on has left,
// the communicator fails.
func (t *tree) forward(o *origin, rank int, seq uint64, p *parcel) {
	if t.cut(o, rank, seq+1) {
		return
	}
	for i := range o.branches {
		if b := &o.branches[i]; b.state == branchThere {
			t.host.Put(b.rank, t.message(rank, seq, p))
		}
	}
}

// Take implements [Messages]. The process owns the bytes from then on. They are copied only if the
// transport has not passed them on yet.
func (t *tree) Take() Message {
	l := t.inbox.pop()
	data := l.parcel.data
	if l.parcel.unsent > 0 {
		data = append(make([]byte, 0, len(data)), data...)
	}
	o := t.origins[l.origin]
	o.consumed++
	o.bytes += len(data)
	o.waiting -= len(data)
	t.counts.Delivered++
	if o.consumed-o.step >= uint64(max(1, t.Window/4)) || o.bytes >= t.Bytes/4 {
		o.step, o.bytes = o.consumed, 0
		t.sendCredit(o, l.origin)
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

// sendCredit sends credit to the parent if there is more than the parent knows.
func (t *tree) sendCredit(o *origin, rank int) {
	if n := o.credited(o.step); n > o.passed && o.from >= 0 && !t.host.Failed() && !t.members.Gone(o.from) {
		o.passed = n
		t.host.Put(o.from, t.control(wire.FrameCredit, n, 0, rank))
	}
}

// credited takes a child's credit.
func (t *tree) credited(h *wire.Header) {
	if int(h.Arg) >= t.Size || h.Print != t.Print {
		t.host.Violation(h, "unexpected credit for origin %d", h.Arg)
		return
	}
	o := t.origin(int(h.Arg))
	b := o.branchTo(h.From)
	if b == nil || h.Seq > o.next {
		t.host.Violation(h, "unexpected credit for %d messages of origin %d", h.Seq, h.Arg)
		return
	}
	b.credit = max(b.credit, h.Seq)
	if int(h.Arg) != t.Rank {
		t.sendCredit(o, int(h.Arg))
	}
}

// Listen implements [Messages]: it connects this rank with its sources, once.
func (t *tree) Listen() { t.listenTo(t.Sources()) }

// Sources implements [Messages].
func (t *tree) Sources() []int {
	var to []int
	for rank := 0; rank < t.Size && !t.sought; rank++ {
		if to = t.Overlay.Channels(to[:0], rank); slices.Contains(to, t.Rank) {
			t.sources = append(t.sources, rank)
		}
	}
	t.sought = true
	return t.sources
}

// Timed implements [Messages]: puts are not lost, so there are no timers.
func (t *tree) Timed() bool                { return false }
func (t *tree) Due() moment.Time           { return moment.Never }
func (t *tree) Tick(moment.Time)           {}
func (t *tree) Alarms(dst []Alarm) []Alarm { return dst }
func (t *tree) Ring(Alarm, moment.Time)    {}
func (t *tree) Normalize(moment.Time)      {}
