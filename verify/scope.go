package verify

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
)

// The purpose of a schedule decides to which checks it is subject: its collective, its algorithm,
// and rules that show a purpose. The presence of what a check looks for never decides, because a
// schedule that forgot it would pass.

// scope says to which schedules a check applies.
type scope struct {
	text string // in words
	// of reports whether the check applies to a schedule. why gives the reason if it is worth
	// knowing, and always if the check does not apply. The schedule may be anything, because it has
	// not been validated.
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
		return fmt.Sprintf("%s is not a barrier", s.Name()), false
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

// promise is what an algorithm promises beyond the rules for every schedule.
type promise struct {
	// acked says that the root, or else rank 0, returns only when every rank has all that it wants
	// (paper 002, section 3).
	acked     bool
	rankOrder bool // see the checks of these names
	position  bool
	inPlace   bool
}

// promised holds the promises of algorithms by name. An algorithm promises what holds for all its
// parameters. Tests check that.
var promised = map[string]promise{
	"bcast/mcast-acktree":   {acked: true},
	"anycast/mcast-acktree": {acked: true},

	"reduce/linear":   {rankOrder: true, position: true, inPlace: true},
	"reduce/binomial": {rankOrder: true, position: true, inPlace: true},
	"reduce/chain":    {rankOrder: true, position: true, inPlace: true},
	"reduce/halving":  {rankOrder: true, position: true, inPlace: true},
	"reduce/two-tree": {inPlace: true},

	"allreduce/linear":        {rankOrder: true, position: true},
	"allreduce/doubling":      {rankOrder: true, position: true},
	"allreduce/halving":       {rankOrder: true, position: true, inPlace: true},
	"allreduce/ring":          {inPlace: true},
	"allreduce/multiplying":   {position: true},
	"allreduce/circulant":     {inPlace: true},
	"allreduce/star":          {rankOrder: true, position: true, inPlace: true},
	"allreduce/two-shot":      {rankOrder: true, position: true, inPlace: true},
	"allreduce/two-tree":      {rankOrder: true, inPlace: true},
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

	"anyreduce/mcast-acktree": {acked: true, position: true, inPlace: true},
}

// acknowledged applies if the algorithm promises acknowledgements, or if rules show that the
// schedule relies on them. The root's Done slots, which the check is about, do not matter.
var acknowledged = scope{
	"the mcast-acktree of bcast, anycast, allreduce and anyreduce; messages with a repair that waits for a signal, or whose root has a signal that no rule of it waits for",
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

// recovering applies if the header says that the schedule has recovery. It does not depend on
// whether a rank has any, or on the algorithm's name. A schedule written as schedgen/1 has no
// recovery and is right without it, because rules alone bring every chunk.
var recovering = scope{
	"schedules that say they have recovery: `recovery` in the first line of the text, schedgen/2 or `\"recovery\":true` in JSON",
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

// repairOnSignal returns a signal on which a repair depends: one that cancels it, or one for which
// it waits.
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

// freeSignal returns a signal of the root for which no rule of the root waits and which cancels no
// rule. So the signal does not make the root do anything.
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
