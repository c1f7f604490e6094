package loss

import (
	"slices"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
	"github.com/schedgen/schedgen/ir"
)

// Double is a signal that goes as a datagram beside its put. TCP resends a lost frame only when it
// notices the loss. After a signal often no frame follows that would reveal its loss, and after
// several losses in a row TCP waits for seconds. Signals are small, and setting a slot twice is
// harmless. So while losses are seen, signals also go as datagrams, repeatedly, and the first copy
// counts. The recovery part of a schedule says which signals; without one, it is all signals.
type Double struct {
	Seq   uint64
	Slot  ir.Slot
	Print uint32
	To    int

	times int         // how often it has been repeated
	due   moment.Time // next repetition; 0: set at the next tick
}

const (
	maxDoubles  = 64 // greatest number; beyond it the oldest are dropped
	maxRepeats  = 8
	firstRepeat = moment.Time(2e6) // after the put; the interval then doubles each time
)

// Doubles reports whether signals are doubled now.
func (r *Recovery) Doubles() bool { return r.seq <= max(r.lossy, r.wary) }

// Double records that a signal has been sent as a datagram, too, and repeats the datagram later.
func (r *Recovery) Double(d Double) {
	if len(r.doubles) == maxDoubles {
		r.doubles = slices.Delete(r.doubles, 0, 1)
	}
	r.doubles = append(r.doubles, d)
	r.doubled++
}

// Repeating reports whether signals are to be repeated.
func (r *Recovery) Repeating() bool { return len(r.doubles) > 0 }

// Repetitions visits the moments at which repetitions are due; 0: the next tick sets it.
func (r *Recovery) Repetitions(visit func(due *moment.Time)) {
	for i := range r.doubles {
		visit(&r.doubles[i].due)
	}
}

// Inside records that rank is inside operation seq, so it has received the signals of earlier
// operations. A rank with several operations open may lack such a signal; it then waits for the
// put.
func (r *Recovery) Inside(rank int, seq uint64) {
	if len(r.doubles) > 0 {
		r.doubles = slices.DeleteFunc(r.doubles, func(d Double) bool { return d.To == rank && d.Seq < seq })
	}
}

// Confirmed records that rank has said that a signal need not be repeated, because the operation
// has ended there. A closing rank waits for this, or until it stops repeating.
func (r *Recovery) Confirmed(rank int, seq uint64, slot ir.Slot) {
	if len(r.doubles) > 0 {
		r.doubles = slices.DeleteFunc(r.doubles, func(d Double) bool { return d.To == rank && d.Seq == seq && d.Slot == slot })
	}
}

// Repeat returns the signals to send again as datagrams now. It forgets signals for which useless
// is true. The result is valid until the next call.
func (r *Recovery) Repeat(now moment.Time, useless func(seq uint64, to int) bool) []Double {
	r.repeats = r.repeats[:0]
	if len(r.doubles) == 0 {
		return nil
	}
	r.doubles = slices.DeleteFunc(r.doubles, func(d Double) bool { return d.times == maxRepeats || useless(d.Seq, d.To) })
	for i := range r.doubles {
		d := &r.doubles[i]
		if !d.due.Over(now, firstRepeat) {
			continue
		}
		d.times++
		d.due = now + firstRepeat<<d.times
		r.repeats = append(r.repeats, *d)
	}
	return r.repeats
}
