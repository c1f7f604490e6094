package runtime

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"

	"github.com/schedgen/schedgen/schedule"
)

// Message is a rootless message: Data is the receiver's own.
type Message struct {
	Origin int    // the rank that published it
	Seq    uint64 // its number among the origin's messages, from 0
	Data   []byte
}

// Publish sends msg to all other ranks, without their knowing of it
// beforehand (paper 001). Each receives it exactly once, and the messages of
// one origin in order; between origins there is no order. msg may be reused
// when Publish returns. Publish waits while Config.CastWindow messages or
// CastBytes bytes of this rank have not been consumed everywhere: a rank that
// never takes its messages holds everybody up, and memory stays bounded.
//
// The end of ctx while waiting leaves the communicator intact: msg is not sent.
func (c *Comm) Publish(ctx context.Context, msg []byte) error {
	if len(msg) > c.cfg.MaxMessage {
		return fmt.Errorf("publish: %w: %d bytes, at most %d", ErrTooLarge, len(msg), c.cfg.MaxMessage)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.enter()
	defer c.leave()
	if err := c.await(ctx, room{}); err != nil {
		return c.castError("publish", err)
	}
	c.cast.publish(c, msg)
	return nil
}

// Next waits for a rootless message. The end of ctx leaves the communicator
// intact.
func (c *Comm) Next(ctx context.Context) (Message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cast.inbox.len() == 0 && c.err != nil {
		return Message{}, c.err
	}
	c.enter()
	defer c.leave()
	if err := c.await(ctx, mail{}); err != nil {
		return Message{}, c.castError("next", err)
	}
	return c.cast.take(c), nil
}

// Poll returns a rootless message if there is one, without waiting; ok tells.
func (c *Comm) Poll() (msg Message, ok bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.poll()
	}
	if c.cast.inbox.len() > 0 {
		return c.cast.take(c), true, nil
	}
	return Message{}, false, c.err
}

// Messages returns the rootless messages as they come, until the communicator
// is closed or fails; Err tells which.
func (c *Comm) Messages() iter.Seq[Message] {
	return func(yield func(Message) bool) {
		for {
			msg, err := c.Next(context.Background())
			if err != nil || !yield(msg) {
				return
			}
		}
	}
}

func (c *Comm) castError(op string, err error) error {
	if c.err != nil {
		return c.err
	}
	return &OpError{Op: op, Rank: c.rank, Epoch: c.cfg.Epoch, Err: err}
}

// room and mail are what Publish and Next wait for.
type (
	room struct{}
	mail struct{}
)

func (room) met(c *Comm) bool { return c.cast.hasRoom(&c.cfg) }
func (mail) met(c *Comm) bool { return c.cast.inbox.len() > 0 }

// caster is the rootless side of a communicator. A message of origin o goes
// down o's tree in the overlay; how far it has been consumed comes back up the
// tree cumulatively, as acknowledgements do in paper 002. An origin has a
// bounded number of messages and bytes under way, so that every rank can
// always take what comes: the overlay's channels form cycles, and holding
// messages back in them could block for ever.
type caster struct {
	overlay  schedule.Overlay
	print    uint32
	origins  []*origin // made when first heard of
	incoming []*parcel // sender -> the message it is in the middle of
	inbox    inbox
	own      sender
}

// origin is what this rank knows of the messages of one rank.
type origin struct {
	from     int   // the parent in its tree; -1 before the first message
	children []int // where its messages go from here
	credit   []uint64
	next     uint64 // the message expected next
	consumed uint64 // messages below were taken by this process
	step     uint64 // consumed, as far as it has been told
	bytes    int    // consumed since step was told
	waiting  int    // bytes in the inbox
	told     uint64 // credit passed to the parent
}

// parcel is a message on its way through this rank.
type parcel struct {
	data   []byte
	unsent int // children it has not been handed over to
}

func (cs *caster) init(c *Comm) error {
	params := c.cfg.Anycast.Params
	params.Ranks, params.Root, params.Chunks = c.size, 0, 0
	spec, err := schedule.New(c.cfg.Anycast.Name, params)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	if cs.overlay = spec.Overlay(); cs.overlay == nil {
		return fmt.Errorf("%w: %s is not rootless", ErrInput, c.cfg.Anycast.Name)
	}
	f := fnv.New32a()
	fmt.Fprintf(f, "%s %d %d %d %d", c.cfg.Anycast.Name, c.size, c.cfg.CastWindow, c.cfg.CastBytes, c.cfg.MaxMessage)
	cs.print = f.Sum32() | 1
	cs.origins = make([]*origin, c.size)
	cs.incoming = make([]*parcel, c.size)
	cs.own.init(cs.origin(c, c.rank), c.cfg.CastWindow)
	return nil
}

// origin returns the state of rank's messages.
func (cs *caster) origin(c *Comm, rank int) *origin {
	o := cs.origins[rank]
	if o == nil {
		o = &origin{from: -1}
		if rank == c.rank {
			o.children = cs.overlay.Forward(nil, rank, rank, rank)
			o.credit = make([]uint64, len(o.children))
		}
		cs.origins[rank] = o
	}
	return o
}

// credited returns how many messages have been consumed in the whole subtree.
func (o *origin) credited(self uint64) uint64 {
	for _, n := range o.credit {
		self = min(self, n)
	}
	return self
}

func (cs *caster) body(c *Comm, h *Header) ([]byte, Verdict) {
	if p := cs.incoming[h.From]; p != nil {
		return p.data, Accept // asked again in the middle of the message
	}
	if h.Print != cs.print {
		c.disagree("publish", h.Seq, h.From)
		return nil, Drop
	}
	if int(h.Arg) >= c.size || int(h.Arg) == c.rank || h.Len > c.cfg.MaxMessage {
		c.violation(h, "message of origin %d with %d bytes", h.Arg, h.Len)
		return nil, Drop
	}
	o := cs.origin(c, int(h.Arg))
	switch {
	case o.from >= 0 && o.from != h.From:
		c.violation(h, "message of origin %d, which comes by rank %d", h.Arg, o.from)
	case h.Seq != o.next:
		c.violation(h, "message %d of origin %d instead of %d", h.Seq, h.Arg, o.next)
	case o.next-o.consumed >= uint64(c.cfg.CastWindow) || o.waiting >= c.cfg.CastBytes+c.cfg.MaxMessage:
		c.violation(h, "origin %d sends more than its window", h.Arg)
	default:
		p := &parcel{data: make([]byte, h.Len)}
		cs.incoming[h.From] = p
		return p.data, Accept
	}
	return nil, Drop
}

func (cs *caster) arrived(c *Comm, h *Header) {
	p := cs.incoming[h.From]
	cs.incoming[h.From] = nil
	o := cs.origin(c, int(h.Arg))
	if o.from < 0 {
		o.from = h.From
		o.children = cs.overlay.Forward(nil, c.rank, int(h.Arg), h.From)
		o.credit = make([]uint64, len(o.children))
	}
	o.next++
	o.waiting += len(p.data)
	cs.forward(c, o, int(h.Arg), h.Seq, p)
	cs.inbox.push(letter{origin: int(h.Arg), seq: h.Seq, parcel: p})
}

// forward queues p for the children in origin's tree.
func (cs *caster) forward(c *Comm, o *origin, rank int, seq uint64, p *parcel) {
	f := &c.frame
	for _, child := range o.children {
		*f = Frame{
			Header: Header{
				Kind: FrameCast, Lane: LaneControl, Epoch: c.cfg.Epoch, Seq: seq, Arg: uint32(rank),
				Print: cs.print, Len: len(p.data), From: c.rank,
			},
			Body: p.data, Unsent: &p.unsent,
		}
		p.unsent++
		c.put(child, f)
	}
}

// take hands the oldest message to the process. The bytes become its own:
// without a copy if they have been passed on already.
func (cs *caster) take(c *Comm) Message {
	l := cs.inbox.pop()
	data := l.parcel.data
	if l.parcel.unsent > 0 {
		data = append(make([]byte, 0, len(data)), data...)
	}
	o := cs.origins[l.origin]
	o.consumed++
	o.bytes += len(data)
	o.waiting -= len(data)
	c.totals.CastsDelivered++
	if o.consumed-o.step >= uint64(max(1, c.cfg.CastWindow/4)) || o.bytes >= c.cfg.CastBytes/4 {
		o.step, o.bytes = o.consumed, 0
		cs.tell(c, o, l.origin)
	}
	return Message{Origin: l.origin, Seq: l.seq, Data: data}
}

// tell passes credit on to the parent if there is more than it knows of.
func (cs *caster) tell(c *Comm, o *origin, rank int) {
	if n := o.credited(o.step); n > o.told && o.from >= 0 && c.err == nil {
		o.told = n
		c.control(o.from, FrameCredit, n, cs.print, uint32(rank))
	}
}

func (cs *caster) credited(c *Comm, h *Header) {
	if int(h.Arg) >= c.size || h.Print != cs.print {
		c.violation(h, "credit for origin %d", h.Arg)
		return
	}
	o := cs.origin(c, int(h.Arg))
	i := child(o.children, h.From)
	limit := o.next
	if int(h.Arg) == c.rank {
		limit = cs.own.next
	}
	if i < 0 || h.Seq > limit {
		c.violation(h, "credit for %d messages of origin %d", h.Seq, h.Arg)
		return
	}
	o.credit[i] = max(o.credit[i], h.Seq)
	if int(h.Arg) != c.rank {
		cs.tell(c, o, int(h.Arg))
	}
}

func child(children []int, rank int) int {
	for i, r := range children {
		if r == rank {
			return i
		}
	}
	return -1
}
