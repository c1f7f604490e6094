package core

import (
	"github.com/schedgen/schedgen/internal/core/agree"
	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/runtime/wire"
)

// An arriving frame is checked here, once, and handed to the part that it concerns.

var _ wire.Sink = (*Core)(nil)

// Body implements [wire.Sink].
func (c *Core) Body(h *wire.Header) ([]byte, wire.Verdict) {
	dst, v := c.body(h)
	c.hear(h.From, v)
	return dst, v
}

// hear takes a frame as a sign of life of its sender, except when a held frame is offered again.
func (c *Core) hear(from int, v wire.Verdict) {
	if v != wire.Hold {
		c.watch.Hear(from)
	}
}

func (c *Core) body(h *wire.Header) ([]byte, wire.Verdict) {
	switch {
	case h.Epoch != c.env.Epoch && !c.tellsAll(h):
		c.foreign(h)
	case c.fate.err != nil && (h.Kind == wire.FrameProbe || h.Kind == wire.FrameListen || h.Kind == wire.FrameFlush):
		c.fate.answer(h.From)
	case c.fate.err != nil && !stillHeard(h.Kind):
	case h.Lane == wire.LaneControl:
		return c.control(h)
	case h.Kind != wire.FrameSlot:
		c.fate.violation(h, "unexpected frame kind %d on the lane of operations", h.Kind)
		return nil, wire.Drop
	default:
		c.ops.loss.Inside(h.From, h.Seq)
		return c.ops.buffer(h)
	}
	c.ops.totals.Stale++
	return nil, wire.Drop
}

// stillHeard reports whether frames of kind k matter to a core that has failed.
func stillHeard(k wire.FrameKind) bool {
	return k == wire.FrameAbort || k == wire.FrameAgree || k == wire.FrameLeave || k == wire.FrameWatch || k == wire.FrameAlive
}

// foreign handles a frame of another Epoch. Its sender is an earlier communicator of the same
// number, or a rank with another Config.
func (c *Core) foreign(h *wire.Header) {
	if c.env.Only {
		c.fate.strange(h)
	}
}

// tellsAll reports whether a frame of another Epoch counts, because it tells all ranks about two
// versions of the membership.
func (c *Core) tellsAll(h *wire.Header) bool {
	return c.env.Only && h.Lane == wire.LaneControl && (h.Kind == wire.FrameAbort || h.Kind == wire.FrameDispute)
}

// control decides where the body of a frame on LaneControl goes, or that the frame is wrong or
// dropped.
func (c *Core) control(h *wire.Header) ([]byte, wire.Verdict) {
	switch h.Kind {
	case wire.FramePublish:
		return c.messagesOf(h).Body(h)
	case wire.FrameAnswer, wire.FrameUnanswered:
		return c.surveys.buffer(h)
	case wire.FrameAbort:
		if _, ok := c.env.reasonIn(h); !ok {
			c.fate.violation(h, "invalid abort of rank %d because of rank %d, for cause %d, with %d bytes", h.Arg, h.Slot, h.Print, h.Len)
			return nil, wire.Drop
		}
		return c.bodies.buffer(h), wire.Accept
	case wire.FrameClash, wire.FrameDispute:
		if h.Len > wire.MaxControl || h.Arg >= subjects || int(h.Slot) >= c.env.Size {
			c.fate.violation(h, "invalid mismatch %d about rank %d in %d bytes", h.Arg, h.Slot, h.Len)
			return nil, wire.Drop
		}
		return c.bodies.buffer(h), wire.Accept
	case wire.FrameWant:
		if h.Len > wire.MaxControl || h.Len%8 != 0 {
			c.fate.violation(h, "invalid request of %d bytes", h.Len)
			return nil, wire.Drop
		}
		return c.bodies.buffer(h), wire.Accept
	case wire.FrameAgree:
		if !agree.Fits(h.Len, c.env.Size) || agree.Kind(h.Arg) >= agree.Kinds {
			c.fate.violation(h, "invalid agreement of kind %d with %d bytes among %d ranks", h.Arg, h.Len, c.env.Size)
			return nil, wire.Drop
		}
		return c.bodies.buffer(h), wire.Accept
	}
	if h.Len != 0 || h.Kind == wire.FrameSlot {
		c.fate.violation(h, "invalid control frame of kind %d with %d bytes", h.Kind, h.Len)
		return nil, wire.Drop
	}
	return nil, wire.Accept
}

// Arrived implements [wire.Sink].
func (c *Core) Arrived(h *wire.Header, body []byte) {
	if h.Lane == wire.LaneOps {
		c.ops.arrived(h, body)
		return
	}
	switch h.Kind {
	case wire.FramePublish, wire.FrameFlush, wire.FrameAck, wire.FrameLost, wire.FrameListen:
		if c.fate.err == nil { // after a failure this rank may have told others which messages it has
			c.messagesOf(h).Arrived(h)
			c.surveys.read()
		}
	case wire.FrameAnswer, wire.FrameUnanswered:
		if c.fate.err == nil { // likewise, whose answers it has
			c.surveys.arrived(h)
		}
	case wire.FrameAbort:
		c.fate.heard(h, body)
		c.heardReason(h, body)
	case wire.FrameClash:
		c.clashed(h, body)
	case wire.FrameDispute:
		c.fate.propose(int(h.Slot), string(body))
	case wire.FrameJoined, wire.FrameLate, wire.FrameProbe, wire.FrameWant, wire.FrameTaken, wire.FrameCall, wire.FrameEntered, wire.FrameOver:
		c.ops.heardOf(h, body)
	case wire.FrameAbsent:
		c.ops.peerAbsent(h)
	case wire.FrameWatch:
		if c.fate.err != nil {
			c.fate.answer(h.From)
		}
		c.watch.Asked(h.From, c.agreeing())
		c.env.control(h.From, wire.FrameAlive, 0, 0, 0)
	case wire.FrameAgree:
		c.heardAgreement(h, body)
	case wire.FrameAlive: // it counts as a sign of life
	case wire.FrameLeave:
		if h.Arg == failed {
			c.fate.closedEarly(h.From)
		}
		c.leave(h.From, h.Seq, h.Print)
	}
	if c.fate.err != nil {
		c.updateAgreements()
	}
}

// heardOf takes a frame on LaneControl about an operation.
func (ops *operations) heardOf(h *wire.Header, body []byte) {
	o, ok := ops.about(h)
	if !ok {
		return
	}
	switch h.Kind {
	case wire.FrameJoined:
		ops.peerJoined(o, h)
	case wire.FrameLate:
		ops.peerLate(o, h)
	case wire.FrameProbe:
		ops.probed(o, h)
	case wire.FrameWant:
		ops.wanted(o, h, body)
	case wire.FrameTaken:
		ops.reported(o, h)
	case wire.FrameCall:
		ops.called(h)
	case wire.FrameEntered:
		ops.peerEntered(o, h)
	case wire.FrameOver:
		ops.peerOver(o, h)
	}
}

// failed is the Arg of a FrameLeave that is not in good order. Connections end as always.
const failed = 1

// Fragment implements [wire.Sink]. A datagram may come from anywhere: an invalid one is dropped and
// counted, and is never an error.
func (c *Core) Fragment(h *wire.Header, offset int, payload []byte) wire.Verdict {
	v := c.fragment(h, offset, payload)
	c.hear(h.From, v)
	return v
}

func (c *Core) fragment(h *wire.Header, offset int, payload []byte) wire.Verdict {
	if h.Kind == wire.FramePublish {
		if h.Epoch == c.env.Epoch && c.fate.err == nil && c.messagesOf(h).Fragment(h, offset, payload) {
			c.surveys.read()
			return wire.Accept
		}
		c.ops.totals.Stale++
		return wire.Drop
	}
	if h.Epoch == c.env.Epoch && h.Kind != wire.FrameAlive {
		c.ops.loss.Inside(h.From, h.Seq)
		c.ops.confirm(h)
	}
	switch o := c.ops.lookup(h.Seq); {
	case h.Epoch != c.env.Epoch || c.fate.err != nil || h.Seq > c.ops.seq+Remembered:
	case h.Kind == wire.FrameWatch:
		c.watch.Want()
		c.sayLoosely(h.From, wire.FrameAlive)
		return wire.Accept
	case h.Kind == wire.FrameAlive: // it counts as a sign of life
		c.ops.loss.Confirmed(h.From, h.Seq, h.Slot)
		return wire.Accept
	case h.Kind == wire.FrameOver:
		if o != nil && h.Print == o.print {
			c.ops.peerOver(o, h)
		}
		return wire.Accept
	case h.Seq > c.ops.seq:
		return wire.Hold
	case o == nil || h.Print != o.print && (h.Kind != wire.FrameSlot || !c.ops.follows(o, h)) || !c.ops.datagram(o, h, offset, payload):
	default:
		return wire.Accept
	}
	c.ops.totals.Stale++
	return wire.Drop
}

// Ended implements [wire.Sink].
func (c *Core) Ended(rank int, how wire.End, err error) {
	switch {
	case c.fate.closing:
	case rank == c.env.Rank:
		c.fate.refused(err)
	case how == wire.Closed:
		c.leave(rank, presence.Unknown, 0)
	case how == wire.Refused:
		c.members.Suspect(rank, err)
	default:
		c.broken(rank, err)
	}
	c.updateAgreements()
}

// leave takes a goodbye. The goodbye says which operations the rank has called. If ranks disagree
// on a gather, all may have returned except the root, which waits for blocks that are never sent.
func (c *Core) leave(rank int, last uint64, fingerprint uint32) {
	c.members.Leave(rank, last, fingerprint)
	c.updateAgreements()
	c.fate.unheard(rank)
	if mine, ok := c.ops.history.Past(last); c.fate.err == nil && ok && fingerprint != 0 && mine != fingerprint {
		c.ops.disagree(last, rank, fingerprint)
	}
	if c.fate.err == nil && !c.fate.disputes() {
		c.ops.checkLeft()
	}
	if c.fate.err == nil && last != presence.Unknown {
		c.ops.leftAfter(rank, last)
	}
	if c.fate.err == nil {
		c.messages.Left(rank)
	}
	if c.fate.err == nil {
		c.surveys.messages.Left(rank)
	}
	if c.fate.err == nil {
		c.surveys.left(rank)
	}
}

// broken handles connections with a rank that have ended without notice. A goodbye may have
// overtaken earlier puts of the rank, which are then lost: a running or future operation of this
// rank may wait for them.
func (c *Core) broken(rank int, err error) {
	a := c.members.Of(rank)
	if a == nil || a.State != presence.Left || c.ops.complete < min(c.ops.seq, a.Last) {
		c.fate.lost(rank, err)
		return
	}
	a.Last = min(a.Last, c.ops.complete)
}

// bodies are the buffers of short bodies on LaneControl, by sender. Frames of one sender follow
// each other, so each sender has one buffer, which is the same for all parts of a body.
type bodies map[int][]byte

// drop frees the buffer of a frame, unless it is small.
func (b *bodies) drop(h *wire.Header) {
	if h.Len > wire.MaxControl {
		delete(*b, h.From) // it is not worth its memory
	}
}

func (b *bodies) buffer(h *wire.Header) []byte {
	if *b == nil {
		*b = make(bodies)
	}
	if len((*b)[h.From]) < h.Len {
		(*b)[h.From] = make([]byte, max(h.Len, wire.MaxControl))
	}
	return (*b)[h.From][:h.Len]
}
