package runtime

import (
	"fmt"
	"time"
)

// control queues a frame without a body on the lane that is never held.
func (c *Comm) control(to int, k FrameKind, seq uint64, print, arg uint32) {
	f := &c.frame
	*f = Frame{Header: Header{
		Kind: k, Lane: LaneControl, Epoch: c.cfg.Epoch, Seq: seq, Print: print, Arg: arg, From: c.rank,
	}}
	c.put(to, f)
}

// put queues f, which the next poll sends.
func (c *Comm) put(to int, f *Frame) {
	c.queued = true
	c.tr.Put(to, f)
}

// controlBody decides about the body of a frame on LaneControl: only rootless
// messages, requests and the reason of an abort have one.
func (c *Comm) controlBody(h *Header) ([]byte, Verdict) {
	switch h.Kind {
	case FrameCast:
		return c.cast.body(c, h)
	case FrameAbort:
		return c.abortBody(h)
	case FrameWant:
		return c.wantBody(h)
	}
	if h.Len != 0 || h.Kind == FrameSlot {
		c.violation(h, "control frame of kind %d with %d bytes", h.Kind, h.Len)
		return nil, Drop
	}
	return nil, Accept
}

func (c *Comm) controlArrived(h *Header, body []byte) {
	switch h.Kind {
	case FrameCast:
		c.cast.arrived(c, h)
	case FrameCredit:
		c.cast.credited(c, h)
	case FrameAbort:
		c.aborted(h, body)
	case FrameJoined:
		c.peerJoined(h)
	case FrameLate:
		if h.Print != 0 {
			c.rootDelay = adapt(c.rootDelay, h.Arg != 0)
		}
	case FrameProbe:
		c.probed(h)
	case FrameWant:
		c.wanted(h, body)
	case FrameTaken:
		c.told(h)
	case FrameLeave:
		(*sink)(c).Left(h.From, h.Seq)
	}
}

// peerJoined opens the gate of DelayRandomPeer.
func (c *Comm) peerJoined(h *Header) {
	c.joined.add(h.Seq)
	if o := c.active; o != nil && o.seq == h.Seq && o.gate.closed && o.gate.peer == h.From && c.agrees(o, h) {
		c.start(o)
	}
}

// probed compares a neighbour's operation with what this rank runs, or ran,
// under the same number.
func (c *Comm) probed(h *Header) {
	if o := c.lookup(h.Seq); o != nil {
		c.agrees(o, h)
	}
}

// fail makes err the communicator's end. If tell is set, the reason goes to
// all ranks, down a binomial tree with this rank as its root: some may not
// wait for anything that fails by itself. Whom it misses, because a rank on
// the way is dead, learns it from the neighbour that it probes (see tellWhy).
func (c *Comm) fail(err error, tell bool) {
	if c.err != nil {
		return
	}
	c.err = err
	c.wakeAll()
	if tell && !c.closing {
		c.sendAbort(c.rank, c.rank, clip(err.Error()))
	}
}

func clip(s string) []byte { return []byte(s[:min(len(s), MaxControl)]) }

// sendAbort passes an abort of origin on to the children of rank in origin's
// binomial tree, and to those of a child that is known to be dead.
func (c *Comm) sendAbort(origin, rank int, reason []byte) {
	v := (rank - origin + c.size) % c.size
	for bit := 1; bit < c.size-v && v&bit == 0; bit <<= 1 {
		child := (rank + bit) % c.size
		if c.dead == child+1 {
			c.sendAbort(origin, child, reason)
		} else {
			c.putAbort(child, origin, reason)
		}
	}
}

func (c *Comm) putAbort(to, origin int, reason []byte) {
	f := &c.frame
	*f = Frame{Header: Header{
		Kind: FrameAbort, Lane: LaneControl, Epoch: c.cfg.Epoch, Seq: c.seq, Arg: uint32(origin), Len: len(reason), From: c.rank,
	}, Body: reason}
	c.put(to, f)
}

// tellWhy answers, once, a rank that still waits in a communicator that has
// failed here.
func (c *Comm) tellWhy(rank int) {
	if in := c.incoming(rank); !in.told {
		in.told = true
		c.putAbort(rank, c.rank, clip(c.err.Error()))
	}
}

// incoming is the place of what comes from a rank on LaneControl, where one
// frame follows the other.
type incoming struct {
	body [MaxControl]byte
	seen map[uint32]bool // origins whose aborts have been passed on
	told bool            // why the communicator has failed
}

func (c *Comm) incoming(from int) *incoming {
	if c.places == nil {
		c.places = make(map[int]*incoming)
	}
	if c.places[from] == nil {
		c.places[from] = &incoming{seen: make(map[uint32]bool)}
	}
	return c.places[from]
}

// place returns where a body of h goes.
func (c *Comm) place(h *Header) []byte { return c.incoming(h.From).body[:h.Len] }

func (c *Comm) abortBody(h *Header) ([]byte, Verdict) {
	if h.Len > MaxControl || int(h.Arg) >= c.size {
		c.violation(h, "abort of rank %d with %d bytes", h.Arg, h.Len)
		return nil, Drop
	}
	return c.place(h), Accept
}

func (c *Comm) aborted(h *Header, reason []byte) {
	seen := c.places[h.From].seen
	if seen[h.Arg] || int(h.Arg) == c.rank {
		return
	}
	seen[h.Arg] = true
	c.fail(&RankError{Rank: int(h.Arg), Err: fmt.Errorf("%w: %s", ErrAborted, reason)}, false)
	c.sendAbort(int(h.Arg), c.rank, append([]byte(nil), reason...))
}

// probeDue returns when the next stall probe of o is due.
func (c *Comm) probeDue(o *op) time.Time {
	return o.moved.Add(c.cfg.Stall << min(o.probes, 4))
}

// probe asks the neighbour whether it runs the same operation, when o has not
// moved for long. If ranks disagree, some pair of neighbours does, so that
// what would be a hang becomes an error; and a neighbour that is dead is found.
func (c *Comm) probe(o *op, now time.Time) {
	if o.stirred {
		o.stirred, o.moved, o.probes = false, now, 0
	}
	if c.size == 1 || now.Before(c.probeDue(o)) {
		return
	}
	o.probes++
	o.moved = now
	c.control((c.rank+1)%c.size, FrameProbe, o.seq, o.print, 0)
}
