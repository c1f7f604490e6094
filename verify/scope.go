package verify

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
)

// What a check applies to is decided by what a schedule is to be: its
// collective, its algorithm, the rules that show a purpose. It is never decided
// by whether the schedule has what the check looks for: one that forgot it
// would pass.

// scope says what a check applies to.
type scope struct {
	text string // in words, for people
	// of reports whether the check applies to a schedule. why gives the reason
	// where it is worth knowing, and always where the check does not apply. The
	// schedule may be anything; it has not been validated.
	of func(*ir.Schedule) (why string, ok bool)
}

var everySchedule = scope{"every schedule", func(*ir.Schedule) (string, bool) { return "", true }}

var everyMessage = scope{"collectives that move bytes", func(s *ir.Schedule) (string, bool) {
	switch {
	case s.HasMessage():
		return "", true
	case s.Chunks > 0:
		return "the chunks of a barrier have no bytes", false
	}
	return "a barrier moves no chunks", false
}}

var everyBarrier = scope{"barriers", func(s *ir.Schedule) (string, bool) {
	if !s.Synchronizes() {
		return fmt.Sprintf("%s is no barrier", s.Name()), false
	}
	return "", true
}}

var everyFold = scope{"collectives that fold; schedules that fold, or put something under another name", func(s *ir.Schedule) (string, bool) {
	switch {
	case foldsAnything(s):
		return "", true
	case s.HasMessage():
		return "nothing is folded", false
	}
	return everyMessage.of(s)
}}

// promise is what an algorithm promises beyond what every schedule has to keep.
type promise struct {
	acked     bool // the root, or else rank 0, returns only when every rank has all that it wants (paper 002, section 3)
	rankOrder bool // see the checks of these names
	position  bool
	inPlace   bool
}

// promised are the promises of algorithms by their names. An algorithm promises what holds of it whatever
// its parameters are; tests see to that.
var promised = map[string]promise{
	"bcast/mcast-acktree": {acked: true},

	"reduce/linear":   {rankOrder: true, position: true, inPlace: true},
	"reduce/binomial": {rankOrder: true, position: true, inPlace: true},
	"reduce/chain":    {rankOrder: true, position: true, inPlace: true},
	"reduce/halving":  {rankOrder: true, position: true, inPlace: true},

	"allreduce/linear":        {rankOrder: true, position: true},
	"allreduce/doubling":      {rankOrder: true, position: true},
	"allreduce/halving":       {rankOrder: true, position: true, inPlace: true},
	"allreduce/ring":          {inPlace: true},
	"allreduce/multiplying":   {position: true},
	"allreduce/circulant":     {inPlace: true},
	"allreduce/star":          {rankOrder: true, position: true, inPlace: true},
	"allreduce/two-shot":      {rankOrder: true, position: true, inPlace: true},
	"allreduce/mcast-acktree": {acked: true, rankOrder: true, position: true, inPlace: true},

	"reduce-scatter/linear":    {rankOrder: true, position: true, inPlace: true},
	"reduce-scatter/star":      {rankOrder: true, position: true, inPlace: true},
	"reduce-scatter/pairwise":  {rankOrder: true, inPlace: true},
	"reduce-scatter/circulant": {inPlace: true},
	"reduce-scatter/halving":   {rankOrder: true, position: true, inPlace: true},

	"scan/chain":      {rankOrder: true, position: true},
	"scan/doubling":   {rankOrder: true, position: true},
	"exscan/doubling": {rankOrder: true, position: true},
	"exscan/skip-123": {rankOrder: true, position: true},

	"anyreduce/skip-ring": {position: true, inPlace: true},
	"anyreduce/circulant": {position: true, inPlace: true},
}

// acknowledged applies where the algorithm promises acknowledgements or rules
// show that the schedule is built upon them. The done slots of the root, of
// which the check is about, have no say.
var acknowledged = scope{
	"bcast/mcast-acktree and allreduce/mcast-acktree; messages of which a repair waits for a signal, or whose root has a signal that none of its rules waits for",
	func(s *ir.Schedule) (string, bool) {
		if !s.HasMessage() {
			return everyMessage.of(s)
		}
		if promised[s.Name()].acked {
			return s.Name() + " promises it", true
		}
		if rank, slot := repairOnSignal(s); slot != ir.None {
			return fmt.Sprintf("a repair of rank %d waits for %v", rank, slot), true
		}
		if slot := freeSignal(s); slot != ir.None {
			return fmt.Sprintf("%v of the root can only be for its return", slot), true
		}
		return "nothing promises or repairs by acknowledgements", false
	},
}

// recovering applies where the header says that the schedule has recovery.
// Whether any rank has some does not count, nor does the algorithm's name: a
// schedule that was written as schedgen/1 is one without, and is right without,
// since rules alone bring every chunk.
var recovering = scope{
	"schedules that say they have recovery: `recovery` in the first line, schedgen/2",
	func(s *ir.Schedule) (string, bool) {
		switch {
		case !s.HasMessage() && s.Chunks > 0:
			return "rules alone repair what a barrier multicasts", false
		case !s.HasMessage():
			return everyMessage.of(s)
		case !s.Recovers:
			return "made without recovery: rules alone repair", false
		}
		return "", true
	},
}

// repairOnSignal returns a signal that a repair waits for: one that calls it
// off, or one that calls for it.
func repairOnSignal(s *ir.Schedule) (rank int, slot ir.Slot) {
	for rank := range s.Programs {
		rules := s.Programs[rank].Rules
		for i := range rules {
			if !rules[i].IsRepair() {
				continue
			}
			if rules[i].Unless.Kind() == ir.KindSignal {
				return rank, rules[i].Unless
			}
			for _, w := range rules[i].When {
				if w.Kind() == ir.KindSignal {
					return rank, w
				}
			}
		}
	}
	return -1, ir.None
}

// freeSignal returns a signal of the root that none of its rules waits for, or
// is called off by. It is not there to make the root do something.
func freeSignal(s *ir.Schedule) ir.Slot {
	if !s.Rooted() || s.Root < 0 || s.Root >= len(s.Programs) {
		return ir.None
	}
	p := &s.Programs[s.Root]
	used := make(map[ir.Slot]bool)
	for i := range p.Rules {
		used[p.Rules[i].Unless] = true
		for _, w := range p.Rules[i].When {
			used[w] = true
		}
	}
	for j := range min(p.Signals, ir.MaxSignals) {
		if slot := ir.Signal(j); !used[slot] {
			return slot
		}
	}
	return ir.None
}
