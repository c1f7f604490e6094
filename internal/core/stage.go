package core

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// The second stage of a broadcast brings the message to ranks that have lost the multicast (paper
// 000, section 2.2). Which one is the fastest depends on how many ranks lose it, so under
// DelayAdaptive the root chooses for each short message among two schedules that all ranks have
// (section 5). It knows how many ranks lose multicasts from the reports of the drawn ranks.
//
// A rank enters under the first schedule. If the root has chosen the other one, all frames of the
// operation from ranks that know it have another fingerprint, which differs in one bit. No rank but
// the root does anything before a frame of the operation comes, and no rank knows the choice but from
// such a frame. So a rank that gets one has not begun, and changes to the other schedule. The proofs
// of each schedule hold, because all ranks run one of them from the first frame on. Frames about the
// operation, such as questions, from a rank that does not know the choice yet are understood under
// either.

// otherStage is the bit of a fingerprint in which the operations of the two schedules differ.
const otherStage = uint32(1) << 31

// sameCall reports whether two fingerprints are of the same call, under the same schedule or not.
func sameCall(a, b uint32) bool { return (a^b)&^otherStage == 0 }

// The root estimates losses by the share of drawn ranks that its multicasts have missed. The share is
// a moving average over about missedOver operations, in parts of missedAll.
const (
	missedAll  = 1 << 16
	missedOver = 16
)

// Otherwise gives p another schedule of the same collective, for short messages whose multicast a
// share of the ranks loses that is greater than lost. If lost is negative, the root always chooses it.
// All ranks must give the same. Otherwise returns an error if a rank that has entered could no longer
// change from one schedule to the other when it gets the first frame.
func (p *Plan) Otherwise(other *Plan, lost float64) error {
	a, b := &p.header, &other.header
	switch {
	case a.Collective != b.Collective || a.Ranks != b.Ranks || a.Root != b.Root || a.Chunks != b.Chunks:
		return fmt.Errorf("%s and %s are schedules of different calls", p.Name, other.Name)
	case !a.Rooted() || p.places.blocks != 1 || p.places.folds || other.places.folds:
		return fmt.Errorf("%s is no broadcast", p.Name)
	}
	for _, of := range []*Plan{p, other} {
		if of.program.Rank() != a.Root && !of.program.Rests() {
			return fmt.Errorf("%s: rank %d does not wait for a chunk", of.Name, of.program.Rank())
		}
	}
	p.other, p.lost = other, int(lost*missedAll)
	return nil
}

// mayChange reports whether o may run under the other schedule. All ranks that have entered the same
// call agree.
func (ops *operations) mayChange(o *op) bool {
	return o.plan.other != nil && o.chunks == 1 && o.n > 0 && o.n <= ops.Caps.Datagram && !o.yields.On() && o.turn == 0
}

// chooseStage lets the root choose the schedule.
func (ops *operations) chooseStage(o *op) {
	if o.root == ops.Rank && ops.mayChange(o) && ops.missed > o.plan.lost && !o.window.Behind() {
		ops.change(o)
	}
}

// change makes o run under the other schedule.
func (ops *operations) change(o *op) {
	entered := o.machine.Has(ir.Enter)
	o.plan, o.print, o.changed = o.plan.other, o.print^otherStage, true
	ops.totals.OtherStage++
	o.machine.Reset(o.plan.program)
	ops.openFlow(o)
	ops.openLosses(o)
	if entered {
		o.machine.Set(ir.Enter) // no rule of this rank waits for it alone
	}
}

// follows reports whether a frame with another fingerprint is of o nevertheless, because one of the
// two ranks does not know the root's choice. If this is the one, it follows the choice.
func (ops *operations) follows(o *op, h *wire.Header) bool {
	switch {
	case h.Print^o.print != otherStage:
		return false
	case o.changed:
		return h.Kind != wire.FrameSlot
	case o.root == ops.Rank || o.state != opActive || o.machine.Has(ir.Chunk(0)) || !ops.mayChange(o):
		return false
	}
	ops.change(o)
	return true
}
