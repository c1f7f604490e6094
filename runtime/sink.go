package runtime

import "github.com/schedgen/schedgen/runtime/wire"

// The driver hands what arrives to the core of its communicator.

var _ wire.Sink = (*driver)(nil)

// Body implements [wire.Sink].
func (d *driver) Body(h *wire.Header) ([]byte, wire.Verdict) {
	if c := d.comms[h.Comm]; c != nil {
		return c.core.Body(h)
	}
	d.stale++
	return nil, wire.Drop
}

// Arrived implements [wire.Sink].
func (d *driver) Arrived(h *wire.Header, body []byte) {
	if c := d.comms[h.Comm]; c != nil {
		c.core.Arrived(h, body)
	}
}

// Fragment implements [wire.Sink].
func (d *driver) Fragment(h *wire.Header, offset int, payload []byte) wire.Verdict {
	if c := d.comms[h.Comm]; c != nil {
		return c.core.Fragment(h, offset, payload)
	}
	d.stale++
	return wire.Drop
}

// Left implements [wire.Sink]: every communicator loses the rank.
func (d *driver) Left(rank int, seq uint64) {
	for _, c := range d.active {
		c.core.Left(rank, seq)
	}
}

// Lost implements [wire.Sink].
func (d *driver) Lost(rank int, err error) {
	for _, c := range d.active {
		c.core.Lost(rank, err)
	}
}
