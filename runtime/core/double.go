package core

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// TCP resends a lost frame only when it notices the loss. After a signal often no frame follows
// that would reveal its loss, and after several losses in a row TCP waits for seconds. Signals are
// small, and setting a slot twice is harmless. So while losses are seen, signals also go as
// datagrams, repeatedly, and the first copy counts. The recovery part of a schedule says which
// signals; without one, all do.

// lossMemory is for how many operations after a loss further losses are expected.
const lossMemory = 16

// noteLoss records that the network loses frames.
func (rc *recovery) noteLoss() {
	if rc.Caps.Direct {
		rc.lossy = rc.ops.seq + lossMemory
	}
}

// checkSlow makes signals double for a while after an operation that takes long. Without multicasts
// nothing else shows that frames are lost.
func (rc *recovery) checkSlow(o *op, now Time) {
	if rc.Caps.Direct && o.pulse.Since() > 0 && now-o.pulse.Since() >= rc.Repair {
		rc.wary = rc.ops.seq + lossMemory
	}
}

// losing reports whether losses are seen.
func (rc *recovery) losing() bool { return rc.ops.seq <= rc.lossy }

// expects reports whether other ranks are likely to ask for chunks of o. If puts yield, they do
// not: a rank returns only when the ranks that it puts to have all chunks, or when it has put all.
func (rc *recovery) expects(o *op) bool {
	return o.plan.recovers && !o.plan.yields && rc.losing()
}

// double also sends the slot of the scratch frame, which is about to be put for o, as a datagram,
// if it is a signal to be doubled.
func (rc *recovery) double(o *op, to int) {
	slot := rc.frame.Slot
	if rc.ops.seq > max(rc.lossy, rc.wary) || slot.Kind() != ir.KindSignal || rc.repairing {
		return // a repair repeats its puts itself
	}
	if p := o.plan; p.recovers && !slices.Contains(p.recovery.Twice, ir.PutTo(slot, to)) {
		return
	}
	unsent := rc.frame.Unsent
	rc.frame.Unsent = nil // it has no body
	rc.net.Datagram(to, &rc.frame)
	rc.frame.Unsent = unsent
	rc.doubles.add(double{seq: o.seq, slot: slot, print: o.print, to: to})
	rc.doubled++
}

// double is a signal that also goes as a datagram.
type double struct {
	seq   uint64
	slot  ir.Slot
	print uint32
	to    int
	times int  // how often it has been repeated
	due   Time // next repetition; 0: set at the next tick
}

// doubles are the signals to repeat, the oldest first.
type doubles []double

const (
	maxDoubles  = 64 // greatest number; beyond it the oldest are dropped
	maxRepeats  = 8
	firstRepeat = Time(2e6) // after the put; the interval then doubles each time
)

func (ds *doubles) add(d double) {
	if len(*ds) == maxDoubles {
		*ds = slices.Delete(*ds, 0, 1)
	}
	*ds = append(*ds, d)
}

// due returns when the next repetition is due.
func (ds doubles) due() Time {
	due := never
	for i := range ds {
		due = min(due, ds[i].due)
	}
	return due
}

// heard records that rank is inside operation seq, so it has received the signals of earlier
// operations. If the rank has several operations open, it waits for the put instead.
func (ds *doubles) heard(rank int, seq uint64) {
	if len(*ds) > 0 {
		*ds = slices.DeleteFunc(*ds, func(d double) bool { return d.to == rank && d.seq < seq })
	}
}

// confirm tells the sender of h that it need not repeat a signal, if that belongs to an operation
// that has ended here. A closing rank waits for this word, or else until it stops repeating.
func (rc *recovery) confirm(h *wire.Header) {
	if h.Kind != wire.FrameSlot || h.Slot.Kind() != ir.KindSignal || h.Seq > rc.ops.complete || rc.fate.err != nil {
		return
	}
	f := rc.fillControl(wire.FrameAlive, h.Seq, h.Print, 0)
	f.Slot = h.Slot
	rc.queued = true
	rc.net.Datagram(h.From, f)
}

// confirmed takes such a word.
func (ds *doubles) confirmed(h *wire.Header) {
	if len(*ds) > 0 {
		*ds = slices.DeleteFunc(*ds, func(d double) bool { return d.to == h.From && d.seq == h.Seq && d.slot == h.Slot })
	}
}

// repeatDoubles repeats the signals that are due.
func (rc *recovery) repeatDoubles(now Time) {
	if len(rc.doubles) == 0 {
		return
	}
	rc.doubles = slices.DeleteFunc(rc.doubles, func(d double) bool {
		return d.times == maxRepeats || rc.ops.complete >= d.seq+Remembered || rc.ops.members.Gone(d.to)
	})
	for i := range rc.doubles {
		d := &rc.doubles[i]
		if d.due == 0 {
			d.due = now + firstRepeat
		}
		if now < d.due {
			continue
		}
		d.times++
		d.due = now + firstRepeat<<d.times
		rc.frame = wire.Frame{Header: wire.Header{
			Kind: wire.FrameSlot, Lane: wire.LaneOps, Epoch: rc.Epoch, Seq: d.seq, Slot: d.slot, Print: d.print, From: rc.Rank,
		}}
		rc.queued = true
		rc.net.Datagram(d.to, &rc.frame)
	}
}
