package core

import (
	"maps"
	"slices"

	"github.com/schedgen/schedgen/runtime/machine"
)

// Clone returns an independent copy of c that sends through net. mem returns copies of the buffers
// of an open operation; the caller's buffers of c stay with c.
//
// A frame that has not left refers to its core, not to the clone. So c must have no such frames.
func (c *Core) Clone(net Net, mem func(seq uint64) Buffers) *Core {
	d := &Core{env: c.env, fate: c.fate, ops: c.ops}
	d.env.net = net
	d.ops.ledger.connect(net)
	d.ops.ledger.Ledger = c.ops.ledger.Ledger.Clone()
	d.fate.told, d.fate.passed = maps.Clone(c.fate.told), maps.Clone(c.fate.passed)
	d.members, d.watch, d.ops.absent = c.members.Clone(), c.watch.Clone(), c.ops.absent.Clone()
	d.ops.spare = nil
	d.ops.askers = slices.Clone(c.ops.askers)
	d.ops.overlap.calls = slices.Clone(c.ops.overlap.calls)
	for i := range d.ops.ring {
		d.ops.ring[i].copyFrom(&c.ops.ring[i], mem)
		e := &d.ops.earlies[i]
		e.seen, e.list = slices.Clone(e.seen), slices.Clone(e.list)
	}
	d.ops.peers, d.ops.loss = c.ops.peers.Clone(), c.ops.loss.Clone()
	d.surveys.copyFrom(&c.surveys)
	d.agree = c.agree
	d.agree.Agreements = c.agree.Clone()
	d.link()
	d.messages = c.messages.Clone((*publisher)(d), &d.members)
	return d
}

// copyFrom makes o, a plain copy of src, independent of src.
func (o *op) copyFrom(src *op, mem func(seq uint64) Buffers) {
	areas := &o.memory.areas
	for i := range areas {
		areas[i].at = slices.Clone(areas[i].at)
	}
	areas[areaRelay].bytes, areas[areaCells].bytes = slices.Clone(areas[areaRelay].bytes), slices.Clone(areas[areaCells].bytes)
	o.keep = nil
	switch {
	case src.gone || src.state == opFree:
	case src.state == opActive:
		b := mem(o.seq)
		if areas[areaOut].bytes, areas[areaIn].bytes = b.Out, b.In; o.memory.apart > 0 {
			cells := areas[areaCells].bytes
			areas[areaIn].bytes = cells[len(cells)-o.memory.apart:]
		}
	default:
		o.keep = slices.Clone(src.keep)
		out := len(areas[areaOut].bytes)
		areas[areaOut].bytes, areas[areaIn].bytes = o.keep[:out], o.keep[out:]
	}
	o.folds.made = nil
	o.machine = machine.Machine{}
	if o.state != opFree {
		o.machine.CopyFrom(&src.machine)
	}
	o.outbox, o.entries = src.outbox.Clone(), entries{slices.Clone(src.entries.asked), slices.Clone(src.entries.known)}
	o.window, o.yields, o.lost = src.window.Clone(), src.yields.Clone(), src.lost.Clone()
}
