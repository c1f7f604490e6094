package runtime

import (
	"errors"
	"fmt"
	"time"

	"github.com/schedgen/schedgen/ir"
)

// sink is the side of a communicator that its transport sees. Poll calls it
// under the communicator's lock.
type sink Comm

// lookup returns the operation that a frame belongs to; nil if it is not
// remembered (any more).
func (c *Comm) lookup(seq uint64) *op {
	o := &c.ops[seq%window]
	if o.state == opFree || o.seq != seq {
		return nil
	}
	return o
}

// Body implements [Sink].
func (s *sink) Body(h *Header) ([]byte, Verdict) {
	c := (*Comm)(s)
	if h.Epoch != c.cfg.Epoch || c.err != nil && h.Kind != FrameAbort {
		if h.Epoch == c.cfg.Epoch && h.Kind == FrameProbe {
			c.tellWhy(h.From)
		}
		c.stale++
		return nil, Drop
	}
	if h.Lane == LaneControl {
		return c.controlBody(h)
	}
	if h.Kind != FrameSlot {
		c.violation(h, "frame kind %d on the lane of operations", h.Kind)
		return nil, Drop
	}
	if h.Seq > c.seq {
		return c.early(h)
	}
	return c.slotBody(h)
}

// early takes signals of the next few operations; anything else waits with
// its sender until the local process has come so far.
func (c *Comm) early(h *Header) ([]byte, Verdict) {
	if h.Slot.Kind() != ir.KindSignal || h.Len != 0 || h.Seq > c.seq+ahead || len(c.earlies) == maxEarly {
		return nil, Hold
	}
	return nil, Accept
}

func (c *Comm) slotBody(h *Header) ([]byte, Verdict) {
	o := c.lookup(h.Seq)
	if o == nil {
		c.stale++
		return nil, Drop
	}
	if !c.agrees(o, h) {
		return nil, Drop
	}
	if h.Slot.Kind() == ir.KindSignal {
		if h.Len != 0 || !o.machine.Valid(h.Slot) {
			c.violation(h, "%v with %d bytes does not exist here", h.Slot, h.Len)
			return nil, Drop
		}
		return nil, Accept
	}
	if h.Slot.Kind() != ir.KindChunk || !o.machine.Valid(h.Slot) {
		c.violation(h, "slot %v does not exist here", h.Slot)
		return nil, Drop
	}
	if o.state != opActive || o.machine.Has(h.Slot) {
		return nil, Drop
	}
	place := o.chunk(h.Slot)
	if len(place) != h.Len {
		c.violation(h, "%v has %d bytes, want %d", h.Slot, h.Len, len(place))
		return nil, Drop
	}
	return place, Accept
}

// agrees fails the communicator if the sender runs another operation under
// the same number.
func (c *Comm) agrees(o *op, h *Header) bool {
	if h.Print == o.print {
		return true
	}
	c.disagree(o.plan.name, h.Seq, h.From)
	return false
}

func (c *Comm) disagree(name string, seq uint64, other int) {
	c.fail(&OpError{
		Op: name, Rank: c.rank, Epoch: c.cfg.Epoch, Seq: seq,
		Err: &RankError{Rank: other, Err: fmt.Errorf("%w: it runs another collective, algorithm, root or size as operation %d", ErrMismatch, seq)},
	}, true)
}

// violation fails the communicator: the transport has checked the frame, so
// it is a peer's fault, not the network's.
func (c *Comm) violation(h *Header, format string, args ...any) {
	c.fail(&RankError{
		Rank: h.From,
		Err:  fmt.Errorf("%w: operation %d: %s", ErrProtocol, h.Seq, fmt.Sprintf(format, args...)),
	}, true)
}

// Arrived implements [Sink].
func (s *sink) Arrived(h *Header, body []byte) {
	c := (*Comm)(s)
	if h.Lane == LaneControl {
		c.controlArrived(h, body)
		return
	}
	if h.Seq > c.seq {
		c.earlies = append(c.earlies, earlySignal{seq: h.Seq, slot: h.Slot, print: h.Print, from: h.From})
		return
	}
	o := c.lookup(h.Seq)
	if o == nil {
		c.stale++
		return
	}
	if h.Slot.Kind() == ir.KindChunk && !o.machine.Has(h.Slot) {
		o.byPut++
	}
	c.set(o, h.Slot)
}

// Fragment implements [Sink]. Datagrams prove nothing: what does not fit is
// dropped and counted, and never an error.
func (s *sink) Fragment(h *Header, offset int, payload []byte) Verdict {
	c := (*Comm)(s)
	if h.Epoch != c.cfg.Epoch || c.err != nil || h.Seq > c.seq+window {
		c.stale++
		return Drop
	}
	if h.Seq > c.seq {
		return Hold
	}
	o := c.lookup(h.Seq)
	if o == nil || h.Print != o.print || !c.datagram(o, h, offset, payload) {
		c.stale++
		return Drop
	}
	return Accept
}

// isAnswer is the Arg of a chunk that answers a request; the others are
// multicast by the root.
const isAnswer = 1

// datagram takes a datagram of o, and reports whether it is one.
func (c *Comm) datagram(o *op, h *Header, offset int, payload []byte) bool {
	switch {
	case h.Kind == FrameWant:
		return c.wantedLoosely(o, h, payload)
	case h.Kind != FrameSlot || !o.machine.Valid(h.Slot):
		return false
	case h.Slot.Kind() == ir.KindSignal && h.Len == 0:
		c.set(o, h.Slot)
		return true
	case h.Slot.Kind() != ir.KindChunk || o.state != opActive || h.From != o.root && h.Arg != isAnswer:
		return false
	}
	return c.fragment(o, h, offset, payload)
}

func (c *Comm) fragment(o *op, h *Header, offset int, payload []byte) bool {
	if len(o.frags.first) == 0 {
		o.frags.layout(o.n, o.chunks, c.caps.Datagram)
	}
	place, k := o.chunk(h.Slot), h.Slot.Index()
	if len(place) != h.Len || !o.frags.fits(len(place), offset, len(payload)) {
		return false
	}
	if h.Arg != isAnswer {
		o.heard = true
		c.hear(o, k)
		c.take(o, k+count(offset+len(payload) == len(place)))
	}
	if o.machine.Has(h.Slot) {
		return true
	}
	copy(place[offset:], payload)
	if o.frags.add(k, offset) && o.frags.complete(k) {
		c.arrived(o, h, k)
	}
	return true
}

// arrived sets chunk k, which datagrams have brought, the last of which is h.
func (c *Comm) arrived(o *op, h *Header, k int) {
	if h.Arg == isAnswer {
		o.byPut++
		c.answered(o, k)
	} else {
		o.byMcast++
	}
	c.set(o, h.Slot)
}

// Left implements [Sink].
func (s *sink) Left(rank int, seq uint64) {
	c := (*Comm)(s)
	if c.gone == nil {
		c.gone = make(map[int]uint64)
	}
	if _, known := c.gone[rank]; !known {
		c.gone[rank] = seq
	}
	delete(c.suspects, rank)
	if o := c.active; o != nil {
		c.checkGone(o)
	}
}

// checkGone fails the communicator if a rank that has left is needed for o.
func (c *Comm) checkGone(o *op) {
	for rank, last := range c.gone {
		if o.seq > last {
			c.fail(&OpError{
				Op: o.plan.name, Rank: c.rank, Epoch: c.cfg.Epoch, Seq: o.seq,
				Err: &RankError{Rank: rank, Err: fmt.Errorf("%w: it closed its communicator after operation %d", ErrPeerLeft, last)},
			}, true)
			return
		}
	}
}

// suspicion is how long a rank that cannot be connected to has to be heard of
// as having left in good order.
const suspicion = time.Second

// Lost implements [Sink].
func (s *sink) Lost(rank int, err error) {
	c := (*Comm)(s)
	if _, left := c.gone[rank]; left || c.closing {
		return
	}
	if errors.Is(err, ErrUnreachable) {
		if c.suspects == nil {
			c.suspects = make(map[int]suspect)
		}
		if _, known := c.suspects[rank]; !known {
			c.suspects[rank] = suspect{until: c.clock.Now().Add(suspicion), err: err}
		}
		return
	}
	c.lost(rank, err)
}

type suspect struct {
	until time.Time
	err   error
}

func (c *Comm) lost(rank int, err error) {
	c.dead = rank + 1
	c.fail(&RankError{Rank: rank, Err: fmt.Errorf("%w: %w", ErrPeerLost, err)}, true)
}

func (c *Comm) checkSuspects(now time.Time) {
	for rank, s := range c.suspects {
		if !now.Before(s.until) {
			delete(c.suspects, rank)
			c.lost(rank, s.err)
		}
	}
}
