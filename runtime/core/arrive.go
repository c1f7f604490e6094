package core

import (
	"github.com/schedgen/schedgen/runtime/wire"
)

// A frame that has come is looked at here, once, and handed to the part that it
// concerns.

var _ wire.Sink = (*Core)(nil)

// Body implements [wire.Sink].
func (c *Core) Body(h *wire.Header) ([]byte, wire.Verdict) {
	dst, v := c.body(h)
	c.hear(h.From, v)
	return dst, v
}

// hear takes what has come from a rank for a sign of life, but not each time that it is offered
// again.
func (c *Core) hear(from int, v wire.Verdict) {
	if v != wire.Hold {
		c.watch.hear(from)
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
		c.fate.violation(h, "frame kind %d on the lane of operations", h.Kind)
		return nil, wire.Drop
	default:
		c.rec.doubles.heard(h.From, h.Seq)
		return c.ops.buffer(h)
	}
	c.ops.totals.Stale++
	return nil, wire.Drop
}

// stillHeard reports whether frames of kind k matter to a core that has failed.
func stillHeard(k wire.FrameKind) bool {
	return k == wire.FrameAbort || k == wire.FrameAgree || k == wire.FrameLeave || k == wire.FrameWatch || k == wire.FrameAlive
}

// foreign looks at a frame of another Epoch. It is of an earlier communicator of the same
// number, or of a rank that has been given another Config.
func (c *Core) foreign(h *wire.Header) {
	if c.env.Only {
		c.fate.strange(h)
	}
}

// tellsAll reports whether a frame of another Epoch counts: what all are to know of two
// versions of the membership.
func (c *Core) tellsAll(h *wire.Header) bool {
	return c.env.Only && h.Lane == wire.LaneControl && (h.Kind == wire.FrameAbort || h.Kind == wire.FrameDispute)
}

// control decides about the body of a frame on LaneControl: only rootless
// messages, requests, the reason of an abort and the words of a mismatch have one.
func (c *Core) control(h *wire.Header) ([]byte, wire.Verdict) {
	switch h.Kind {
	case wire.FrameCast:
		return c.casts.buffer(h)
	case wire.FrameAbort:
		if _, ok := c.env.reasonIn(h); !ok {
			c.fate.violation(h, "abort of rank %d because of rank %d, for cause %d, with %d bytes", h.Arg, h.Slot, h.Print, h.Len)
			return nil, wire.Drop
		}
		return c.bodies.buffer(h), wire.Accept
	case wire.FrameClash, wire.FrameDispute:
		if h.Len > wire.MaxControl || h.Arg >= subjects || int(h.Slot) >= c.env.Size {
			c.fate.violation(h, "mismatch %d about rank %d in %d bytes", h.Arg, h.Slot, h.Len)
			return nil, wire.Drop
		}
		return c.bodies.buffer(h), wire.Accept
	case wire.FrameWant:
		if h.Len > wire.MaxControl || h.Len%8 != 0 {
			c.fate.violation(h, "request of %d bytes", h.Len)
			return nil, wire.Drop
		}
		return c.bodies.buffer(h), wire.Accept
	case wire.FrameAgree:
		if !c.agree.fits(h) {
			c.fate.violation(h, "agreement of kind %d with %d bytes, of %d", h.Arg, h.Len, sayingBytes(c.env.Size))
			return nil, wire.Drop
		}
		return c.bodies.buffer(h), wire.Accept
	}
	if h.Len != 0 || h.Kind == wire.FrameSlot {
		c.fate.violation(h, "control frame of kind %d with %d bytes", h.Kind, h.Len)
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
	case wire.FrameCast:
		if c.fate.err == nil { // else this rank may have told what has come
			c.casts.arrived(h)
		}
	case wire.FrameCredit:
		c.casts.credited(h)
	case wire.FrameFlush:
		c.casts.questioned(h)
	case wire.FrameFlushed:
		c.casts.answered(h)
	case wire.FramePassed:
		c.casts.passedOn(h)
	case wire.FrameAbort:
		c.fate.heard(h, body)
		c.agree.told(h, body)
	case wire.FrameClash:
		c.clashed(h, body)
	case wire.FrameDispute:
		c.fate.propose(int(h.Slot), string(body))
	case wire.FrameJoined:
		c.ops.peerJoined(h)
	case wire.FrameLate:
		c.ops.peerLate(h)
	case wire.FrameProbe:
		c.ops.probed(h)
	case wire.FrameWant:
		c.rec.wanted(h, body)
	case wire.FrameTaken:
		c.rec.reported(h)
	case wire.FrameCall:
		c.ops.called(h)
	case wire.FrameEntered:
		c.ops.peerEntered(h)
	case wire.FrameOver:
		c.ops.peerOver(h)
	case wire.FrameListen:
		c.casts.heardListener(h)
	case wire.FrameAbsent:
		c.ops.peerAbsent(h)
	case wire.FrameWatch:
		if c.fate.err != nil {
			c.fate.answer(h.From)
		}
		c.watch.asked(h.From)
	case wire.FrameAgree:
		c.agree.heard(h, body)
	case wire.FrameAlive: // it has been heard
	case wire.FrameLeave:
		if h.Arg == failed {
			c.fate.deserted(h.From)
		}
		c.leave(h.From, h.Seq, h.Print)
	}
	if c.fate.err != nil {
		c.agree.look()
	}
}

// failed is the Arg of a goodbye that is not in good order: connections end as always.
const failed = 1

// Fragment implements [wire.Sink]. Datagrams prove nothing: what does not fit is
// dropped and counted, and never an error.
func (c *Core) Fragment(h *wire.Header, offset int, payload []byte) wire.Verdict {
	v := c.fragment(h, offset, payload)
	c.hear(h.From, v)
	return v
}

func (c *Core) fragment(h *wire.Header, offset int, payload []byte) wire.Verdict {
	if h.Epoch == c.env.Epoch && h.Kind != wire.FrameAlive {
		c.rec.doubles.heard(h.From, h.Seq)
		c.rec.confirm(h)
	}
	switch o := c.ops.lookup(h.Seq); {
	case h.Epoch != c.env.Epoch || c.fate.err != nil || h.Seq > c.ops.seq+Remembered:
	case h.Kind == wire.FrameWatch:
		c.watch.askedLoosely(h.From)
		return wire.Accept
	case h.Kind == wire.FrameAlive: // it has been heard
		c.rec.doubles.confirmed(h)
		return wire.Accept
	case h.Kind == wire.FrameOver:
		c.ops.peerOver(h)
		return wire.Accept
	case h.Seq > c.ops.seq:
		return wire.Hold
	case o == nil || h.Print != o.print || !c.rec.datagram(o, h, offset, payload):
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
		c.leave(rank, unknown, 0)
	case how == wire.Refused:
		c.members.suspect(rank, err)
	default:
		c.broken(rank, err)
	}
	c.agree.look()
}

// leave takes a goodbye. It says what the rank has called, as far as that goes: ranks that differ in a gather may
// all have returned but for the root, which waits for what it is not sent.
func (c *Core) leave(rank int, last uint64, fingerprint uint32) {
	c.members.leave(rank, last, fingerprint)
	c.agree.look()
	c.fate.unheard(rank)
	if mine, ok := c.ops.past(last); c.fate.err == nil && ok && fingerprint != 0 && mine != fingerprint {
		c.ops.disagree(last, rank, fingerprint)
	}
	if c.fate.err == nil && !c.fate.disputes() {
		c.ops.checkLeft()
	}
	if c.fate.err == nil && last != unknown {
		c.ops.leftAfter(rank, last)
	}
	if c.fate.err == nil {
		c.casts.left(rank)
	}
}

// broken is told that connections with a rank have ended without a word. A goodbye
// may have overtaken what the rank has put before, and that is lost now: an
// operation of this rank that still runs, or is still to begin, may wait for it.
func (c *Core) broken(rank int, err error) {
	a := c.members.of(rank)
	if a == nil || a.state != hasLeft || c.ops.complete < min(c.ops.seq, a.last) {
		c.fate.lost(rank, err)
		return
	}
	a.last = min(a.last, c.ops.complete)
}

// bodies are the buffers of short bodies on LaneControl, where of one sender one
// frame follows the other: the same for every part of a body that is read.
type bodies map[int][]byte

// drop forgets the memory for the frame, unless it is small.
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
