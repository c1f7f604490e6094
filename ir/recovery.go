package ir

import (
	"fmt"
	"slices"
)

// Recovery is what a rank does about multicasts that have not reached it, and
// what it does for others: who then talks to whom is decided when the schedule
// is made. Its zero value is none, and it is that of every program of a schedule
// whose Header says nothing of recovery.
//
// It only ever brings slots that rules bring as well, earlier or again: what
// the rules say holds whether anybody acts on it or not.
type Recovery struct {
	// Ask are the ranks that this one asks for chunks that a multicast has not
	// brought. The first is asked at once for what the multicast has passed
	// over, the next for what an earlier request has not brought, and the last
	// one again and again: at most MaxAsk, no rank twice.
	Ask []int32

	// Reports says that the rank tells ReportTo how far a long multicast has
	// come at it and at all ranks that report to it, directly or not. The root
	// reports to nobody: it multicasts no further than a window beyond what it
	// is told. If the root puts chunks to a rank that reports to it, puts of chunks to ranks that
	// report to the putting rank yield at all ranks: see [Program.Yields].
	Reports    bool
	ReportTo   int32   // 0 unless Reports
	ReportFrom []int32 // the ranks that report to this one, ascending

	// Twice are puts of signals among those of the rules that are sent a second
	// time, as a datagram beside the put, while losses are seen; ascending by
	// rank and slot.
	Twice []Action
}

// IsNone reports whether r is the zero value.
func (r *Recovery) IsNone() bool {
	return len(r.Ask) == 0 && !r.Reports && r.ReportTo == 0 && len(r.ReportFrom) == 0 && len(r.Twice) == 0
}

// Yields reports whether plain rules of p put chunks to ranks that report to it:
// such puts yield to the multicast of the same chunks. That of a long message may
// wait until the rank has told how much it has, and is left out if it has the chunk.
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

// ValidateRecovery returns an error that says where, at first, the
// recovery of p, a program of a schedule with header h, is none: what [Validate]
// says of it as far as one program shows.
func ValidateRecovery(h *Header, p *Program) error {
	if field, why := recoveryFault(h, p); why != "" {
		return fmt.Errorf("%s: %s", field, why)
	}
	return nil
}

// recoveryFault returns the field of p's recovery that is at fault and the
// reason, or "".
func recoveryFault(h *Header, p *Program) (field, why string) {
	if !h.Recovers && !p.Recovery.IsNone() {
		return recoveryField(&p.Recovery), "the schedule is one without recovery"
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

// recoveryField names the first field of r that says something.
func recoveryField(r *Recovery) string {
	switch {
	case len(r.Ask) > 0:
		return "ask"
	case r.Reports || r.ReportTo != 0 || len(r.ReportFrom) > 0:
		return "report"
	}
	return "twice"
}

// peerFault returns the reason why rank cannot do with other what verb says.
func peerFault(h *Header, rank int, other int32, verb string) string {
	switch {
	case other < 0 || int(other) >= h.Ranks:
		return fmt.Sprintf("%d is out of range 0 … %d", other, h.Ranks-1)
	case int(other) == rank:
		return fmt.Sprintf("rank %d %s itself", rank, verb)
	}
	return ""
}

// askFault returns the reason why the last of ask cannot follow the others.
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

// reporterFault returns the reason why the last of from cannot follow the
// others.
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

// twiceFault returns the reason why the last of twice cannot follow the others.
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
