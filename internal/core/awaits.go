package core

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/ir"
)

// awaits returns how this rank waits for another rank, and in which open operation. It looks
// through that rank's program, so use it only for long waits.
func (ops *operations) awaits(rank int) (in *op, how presence.Wait) {
	for seq := ops.complete + 1; seq <= ops.seq && how < presence.WaitsMust; seq++ {
		if o := ops.open(seq); o != nil {
			if w := o.awaits(ops.Rank, rank); w > how {
				in, how = o, w
			}
		}
	}
	return in, how
}

func (o *op) awaits(own, rank int) (how presence.Wait) {
	if o.plan.Programs == nil {
		return presence.WaitsNot
	}
	if (o.unsent > 0 || !o.outbox.Empty()) && o.puts(rank) {
		how = presence.WaitsLoosely
	}
	p := o.plan.Programs(rank)
	requests := p.Requests()
	for i := range p.Rules {
		r := &p.Rules[i]
		for _, a := range r.Do {
			switch {
			case a.Op != ir.Put || int(a.To) != own || !o.machine.Awaits(a.Sets()):
			case r.IsRepair() || r.AwaitsAny(requests):
				how = presence.WaitsLoosely
			default:
				return presence.WaitsMust
			}
		}
	}
	return how
}

// puts reports whether this rank puts anything to rank to.
func (o *op) puts(to int) bool {
	for r := range int32(o.plan.program.Rules()) {
		for _, a := range o.plan.program.Actions(r) {
			if a.Op == ir.Put && int(a.To) == to {
				return true
			}
		}
	}
	return false
}

// stuck reports whether the oldest operation has not moved for the time after which a silent rank
// is lost.
func (ops *operations) stuck(now Time) bool {
	o := ops.oldest()
	if o == nil {
		return false
	}
	_, quiet := o.pulse.Inspect(now)
	return quiet >= ops.Silence
}

// leftEarly fails the core because o needs a put of a rank that has left. All puts of that rank
// have arrived.
func (ops *operations) leftEarly(o *op, rank int) {
	ops.fate.broken(o.plan.Name, o.seq, &RankError{
		Rank: rank, Err: fmt.Errorf("%w: it closed its communicator without sending data that this operation needs", ErrPeerLeft),
	})
}
