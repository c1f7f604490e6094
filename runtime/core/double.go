package core

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// TCP resends a lost frame, but not before it has noticed, and no later frame
// tells it of the loss of a signal, which is the last for a while. Where much is lost it
// waits for longer and longer: seconds after some losses in a row. Signals are
// small, and slots are set once: while losses are seen, signals go as datagrams
// beside their puts, again and again, and whichever comes first counts. A schedule with
// recovery says which; of others all do.

// lossMemory is for how many operations a loss makes others be expected.
const lossMemory = 16

// noteLoss remembers that the network loses frames.
func (rc *recovery) noteLoss() {
	if rc.Caps.Direct {
		rc.lossy = rc.ops.seq + lossMemory
	}
}

// checkSlow has signals be doubled for a while after an operation that takes long: of one
// without multicasts nothing else tells that frames are lost.
func (rc *recovery) checkSlow(o *op, now Time) {
	if rc.Caps.Direct && o.pulse.since > 0 && now-o.pulse.since >= rc.Repair {
		rc.wary = rc.ops.seq + lossMemory
	}
}

// losing reports whether losses are seen.
func (rc *recovery) losing() bool { return rc.ops.seq <= rc.lossy }

// expects reports whether others are to be expected to ask for chunks of o.
// Where puts yield, no rank returns before those that it puts to have all chunks,
// or has put them all.
func (rc *recovery) expects(o *op) bool {
	return o.plan.recovers && !o.plan.yields && rc.losing()
}

// double sends the slot of the scratch frame, which is about to be put for o, as
// a datagram if it is a signal that is to go twice.
func (rc *recovery) double(o *op, to int) {
	slot := rc.frame.Slot
	if rc.ops.seq > max(rc.lossy, rc.wary) || slot.Kind() != ir.KindSignal || rc.repairing {
		return // what a repair puts it puts again
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

// double is a signal that goes as a datagram as well.
type double struct {
	seq   uint64
	slot  ir.Slot
	print uint32
	to    int
	times int  // that it has been repeated
	due   Time // when it is next; 0: not known before the next tick
}

// doubles are those that are repeated, the oldest first.
type doubles []double

const (
	maxDoubles  = 64 // of those beyond it the oldest are repeated no more
	maxRepeats  = 8
	firstRepeat = Time(2e6) // after the put; then it takes twice as long each time
)

func (ds *doubles) add(d double) {
	if len(*ds) == maxDoubles {
		*ds = slices.Delete(*ds, 0, 1)
	}
	*ds = append(*ds, d)
}

// due returns when the next one is.
func (ds doubles) due() Time {
	due := never
	for i := range ds {
		due = min(due, ds[i].due)
	}
	return due
}

// heard notes that rank is in operation seq: what it has been sent of those before has come, unless it has
// several open at once. Then it waits for the put.
func (ds *doubles) heard(rank int, seq uint64) {
	if len(*ds) > 0 {
		*ds = slices.DeleteFunc(*ds, func(d double) bool { return d.to == rank && d.seq < seq })
	}
}

// confirm tells the sender of h that it need not repeat that, if it is a signal of an operation that is over
// here. A rank that closes waits for this word: without it, for as long as signals are repeated.
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

// repeatDoubles sends signals once more that are due.
func (rc *recovery) repeatDoubles(now Time) {
	if len(rc.doubles) == 0 {
		return
	}
	rc.doubles = slices.DeleteFunc(rc.doubles, func(d double) bool {
		return d.times == maxRepeats || rc.ops.complete >= d.seq+Remembered || rc.ops.members.gone(d.to)
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
