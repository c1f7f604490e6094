package ir

import (
	"fmt"
	"io"
)

// The JSON forms that WriteJSON writes and ParseJSON reads. A schedule is
// written in the one or the other by its Header alone, so whoever reads only
// the first gets every schedule that has no recovery and is no barrier with a
// multicast.
const (
	Format         = "schedgen/1"
	FormatRecovery = "schedgen/2" // with recovery
	FormatBarrier  = "schedgen/3" // of a barrier that multicasts: it has chunks
)

// format returns the name of the form for a schedule with header h.
func (h *Header) format() string {
	switch {
	case h.Recovers:
		return FormatRecovery
	case !h.HasMessage() && h.Chunks > 0:
		return FormatBarrier
	}
	return Format
}

// WriteJSON writes s in the JSON form schedgen/1 or, if s has recovery,
// schedgen/2, or, if s is a barrier that multicasts, schedgen/3, one rule a line. Equal schedules have equal bytes and [ParseJSON]
// gives back an equal schedule. What [Validate] refuses is not written.
func WriteJSON(w io.Writer, s *Schedule) error {
	if err := Validate(s); err != nil {
		return fmt.Errorf("writing %s as JSON: %w", s.Name(), err)
	}
	out := newPrinter(w)
	out.jsonHeader(&s.Header)
	out.str(`"programs":[`)
	for r := range s.Programs {
		if r > 0 {
			out.str(",")
		}
		out.str("\n")
		out.jsonProgram(&s.Programs[r])
	}
	out.str("]}\n")
	return out.flush(s.Name() + " as JSON")
}

// jsonHeader writes the members before the programs. The names need no
// escapes: Validate has let only letters, digits and hyphens through.
func (p printer) jsonHeader(h *Header) {
	p.str(`{"format":"` + h.format() + `","collective":"` + h.Collective + `","algorithm":"` + h.Algorithm + `",`)
	p.member("ranks", h.Ranks)
	p.str(",")
	p.member("root", h.Root)
	p.str(",")
	p.member("chunks", h.Chunks)
	p.str(",\n" + `"params":{`)
	for i, param := range h.Params {
		if i > 0 {
			p.str(",")
		}
		p.member(param.Name, param.Value)
	}
	p.str("},\n")
}

// member writes a member with a number as its value.
func (p printer) member(name string, v int) {
	p.str(`"`)
	p.str(name)
	p.str(`":`)
	p.num(v)
}

func (p printer) jsonProgram(g *Program) {
	p.str("{")
	p.member("rank", g.Rank)
	p.str(",")
	p.member("signals", g.Signals)
	p.str(`,"rules":[`)
	for i := range g.Rules {
		if i > 0 {
			p.str(",")
		}
		p.str("\n ")
		p.jsonRule(&g.Rules[i])
	}
	p.str(`],"done":`)
	p.jsonSlots(g.Done)
	p.jsonRecovery(&g.Recovery)
	p.str("}")
}

func (p printer) jsonRule(r *Rule) {
	p.str(`{"when":`)
	p.jsonSlots(r.When)
	if r.IsRepair() {
		p.str(`,"unless":"`)
		p.slot(r.Unless)
		p.str(`",`)
		p.member("after", r.After)
	}
	p.str(`,"do":`)
	p.jsonActions(r.Do)
	p.str("}")
}

func (p printer) jsonActions(actions []Action) {
	p.str("[")
	for i, a := range actions {
		if i > 0 {
			p.str(",")
		}
		p.jsonAction(a)
	}
	p.str("]")
}

func (p printer) jsonSlots(slots []Slot) {
	p.str("[")
	for i, s := range slots {
		if i > 0 {
			p.str(",")
		}
		p.str(`"`)
		p.slot(s)
		p.str(`"`)
	}
	p.str("]")
}

func (p printer) jsonAction(a Action) {
	p.str(`{"op":"`)
	p.str(a.Op.String())
	p.str(`","slot":"`)
	p.slot(a.Slot)
	p.str(`"`)
	if a.Op == Put {
		p.str(",")
		p.member("to", int(a.To))
	}
	p.str("}")
}
