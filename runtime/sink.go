package runtime

import (
	"math"

	"github.com/schedgen/schedgen/runtime/wire"
)

// The driver hands each frame to the core of its communicator, with the sender's rank in that
// communicator.

var _ wire.Sink = (*driver)(nil)

// Body implements [wire.Sink].
func (d *driver) Body(h *wire.Header) ([]byte, wire.Verdict) {
	if c, h := d.lookup(h); c != nil {
		return c.core.Body(h)
	}
	d.stale++
	if h.Kind == wire.FrameAgree || h.Kind == wire.FrameWatch {
		d.depart(h)
	}
	return nil, wire.Drop
}

// depart tells a rank that the communicator it asks about is closed here.
func (d *driver) depart(h *wire.Header) {
	d.tr.Put(h.From, &wire.Frame{Header: wire.Header{
		Kind: wire.FrameLeave, Lane: wire.LaneControl, Comm: h.Comm, Epoch: h.Epoch, Seq: math.MaxUint64, From: d.tr.Rank(),
	}})
}

// Arrived implements [wire.Sink].
func (d *driver) Arrived(h *wire.Header, body []byte) {
	if c, h := d.lookup(h); c != nil {
		c.core.Arrived(h, body)
	}
}

// Fragment implements [wire.Sink].
func (d *driver) Fragment(h *wire.Header, offset int, payload []byte) wire.Verdict {
	if c, h := d.lookup(h); c != nil {
		return c.core.Fragment(h, offset, payload)
	}
	d.stale++
	return wire.Drop
}

// lookup returns the communicator of a frame, and the header for its core. It returns nil if there
// is no such communicator or the sender is no member.
func (d *driver) lookup(h *wire.Header) (*Comm, *wire.Header) {
	c := d.comms[h.Comm]
	if c != nil && h.Epoch != c.cfg.Epoch {
		c = c.before(h)
	}
	if c == nil || c.members == nil {
		return c, h
	}
	if h = c.members.shown(h); h == nil {
		return nil, nil
	}
	return c, h
}

// Ended implements [wire.Sink]. It tells every communicator that the peer is a member of.
func (d *driver) Ended(endpoint int, how wire.End, err error) {
	d.seeFlags() // takes the flags that the peer wrote before it ended
	d.ends[endpoint] = peerEnd{how, err}
	for _, c := range d.active {
		if rank, member := c.rankOf(endpoint); member {
			c.core.Ended(rank, how, err)
		}
	}
}
