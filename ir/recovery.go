package ir

import (
	"fmt"
	"slices"
)

// Recovery says what a rank does when a multicast has not reached it, and what it does for other
// ranks. The schedule fixes in advance which ranks talk to each other for this. The zero value is
// no recovery. All programs have it if the schedule's Header.Recovers is false.
//
// Recovery only brings slots that rules bring as well. So the effect of the rules does not depend
// on whether ranks use recovery.
type Recovery struct {
	// Ask lists the ranks that this rank asks for chunks that a multicast has not brought: at most
	// MaxAsk, without duplicates. The rank asks the first one as soon as the multicast has skipped
	// a chunk. It asks the next one for chunks that earlier requests have not brought, and repeats
	// its requests to the last one.
	Ask []int32

	// Reports says that the rank tells ReportTo how much of a long multicast has arrived, at itself
	// and at all ranks that report to it, directly or indirectly. The root reports to no rank. It
	// multicasts at most one window beyond the reported progress. If the root puts chunks to a rank
	// that reports to it, then at all ranks puts of chunks to ranks that report to the putting rank
	// yield: see [Program.Yields].
	Reports    bool
	ReportTo   int32   // 0 unless Reports
	ReportFrom []int32 // the ranks that report to this one, ascending

	// Twice lists puts of signals, taken from the rules, that the rank sends a second time as a
	// datagram beside the put while it sees losses. They are in ascending order by rank and slot.
	Twice []Action
}

// IsNone reports whether r is the zero value.
func (r *Recovery) IsNone() bool {
	return len(r.Ask) == 0 && !r.Reports && r.ReportTo == 0 && len(r.ReportFrom) == 0 && len(r.Twice) == 0
}

// Yields reports whether plain rules of p put chunks to ranks that report to it. Such a put yields
// to the multicast of the same chunk. For a long message the put may wait until the destination has
// reported its progress, and it is left out if the destination has the chunk.
func (p *Program) Yields() bool {
	for i := range p.Rules {
		if len(p.ReportFrom) == 0 || p.Rules[i].IsRepair() {
			continue
		}
		for _, a := range p.Rules[i].Do {
			if a.Op != Put || a.Slot.Kind() != KindChunk {
				continue
			}
			if _, reports := slices.BinarySearch(p.ReportFrom, a.To); reports {
				return true
			}
		}
	}
	return false
}

// ValidateRecovery returns an error that names the first fault in the recovery of p, a program of a
// schedule with header h. It checks everything that [Validate] checks of recovery and that one
// program shows.
func ValidateRecovery(h *Header, p *Program) error {
	if field, why := recoveryFault(h, p); why != "" {
		return fmt.Errorf("%s: %s", field, why)
	}
	return nil
}

// recoveryFault returns the field of p's recovery that is at fault and the reason. The reason is ""
// if there is no fault.
func recoveryFault(h *Header, p *Program) (field, why string) {
	if !h.Recovers && !p.Recovery.IsNone() {
		return recoveryField(&p.Recovery), "the schedule has no recovery"
	}
	for i := range p.Ask {
		if why := askFault(h, p.Rank, p.Ask[:i+1]); why != "" {
			return fmt.Sprintf("ask[%d]", i), why
		}
	}
	if p.Reports {
		if why := peerFault(h, p.Rank, p.ReportTo, "reports to"); why != "" {
			return "report.to", why
		}
	} else if p.ReportTo != 0 {
		return "report.to", fmt.Sprintf("%d of a rank that does not report", p.ReportTo)
	}
	for i := range p.ReportFrom {
		if why := reporterFault(h, p.Rank, p.ReportFrom[:i+1]); why != "" {
			return fmt.Sprintf("report.from[%d]", i), why
		}
	}
	for i := range p.Twice {
		if why := twiceFault(h, p.Rank, p.Twice[:i+1]); why != "" {
			return fmt.Sprintf("twice[%d]", i), why
		}
	}
	return "", ""
}

// recoveryField names the first field of r that is not empty.
func recoveryField(r *Recovery) string {
	switch {
	case len(r.Ask) > 0:
		return "ask"
	case r.Reports || r.ReportTo != 0 || len(r.ReportFrom) > 0:
		return "report"
	}
	return "twice"
}

// peerFault returns the reason why rank cannot do to other what verb says, or "".
func peerFault(h *Header, rank int, other int32, verb string) string {
	switch {
	case other < 0 || int(other) >= h.Ranks:
		return fmt.Sprintf("%d is out of range 0 … %d", other, h.Ranks-1)
	case int(other) == rank:
		return fmt.Sprintf("rank %d %s itself", rank, verb)
	}
	return ""
}

// askFault returns the reason why the last rank of ask cannot follow the others, or "".
func askFault(h *Header, rank int, ask []int32) string {
	last := len(ask) - 1
	if why := peerFault(h, rank, ask[last], "asks"); why != "" {
		return why
	}
	if last == MaxAsk {
		return fmt.Sprintf("rank %d asks more than %d ranks", rank, MaxAsk)
	}
	for _, earlier := range ask[:last] {
		if earlier == ask[last] {
			return fmt.Sprintf("rank %d asks rank %d twice", rank, earlier)
		}
	}
	return ""
}

// reporterFault returns the reason why the last rank of from cannot follow the others, or "".
func reporterFault(h *Header, rank int, from []int32) string {
	last := len(from) - 1
	if why := peerFault(h, rank, from[last], "reports to"); why != "" {
		return why
	}
	if last > 0 && from[last-1] >= from[last] {
		return fmt.Sprintf("rank %d after rank %d: not ascending", from[last], from[last-1])
	}
	return ""
}

// twiceFault returns the reason why the last action of twice cannot follow the others, or "".
func twiceFault(h *Header, rank int, twice []Action) string {
	last := len(twice) - 1
	a := twice[last]
	if a.Op != Put || a.Slot.Kind() != KindSignal || a.As != None {
		return fmt.Sprintf("%v %v: only the put of a signal is sent twice", a.Op, a.Slot)
	}
	if why := peerFault(h, rank, a.To, "puts to"); why != "" {
		return why
	}
	if last > 0 && !precedes(twice[last-1], a) {
		b := twice[last-1]
		return fmt.Sprintf("%v @%d after %v @%d: not ascending by rank and slot", a.Slot, a.To, b.Slot, b.To)
	}
	return ""
}

// precedes reports whether a comes before b by rank, then slot.
func precedes(a, b Action) bool {
	return a.To < b.To || a.To == b.To && a.Slot < b.Slot
}
