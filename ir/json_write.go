package ir

import (
	"fmt"
	"io"
	"strconv"
)

// The JSON forms that [WriteJSON] writes and [ParseJSON] reads. WriteJSON uses the first of them
// that can express the schedule. So a program that reads only older forms can still read every
// schedule that they can express.
const (
	Format         = "schedgen/1" // bcast, barrier and anycast
	FormatRecovery = "schedgen/2" // bcast and anycast with recovery
	FormatBarrier  = "schedgen/3" // a barrier that multicasts: it has chunks
	FormatBlocks   = "schedgen/4" // any other collective, several slots in one message, or folds
)

// format returns the form in which s is written.
func (s *Schedule) format() string {
	h := &s.Header
	switch {
	case !inOldForms(h.Collective) || s.hasNewActions():
		return FormatBlocks
	case h.Recovers:
		return FormatRecovery
	case !h.HasMessage() && h.Chunks > 0:
		return FormatBarrier
	}
	return Format
}

// inOldForms reports whether the forms before schedgen/4 can express the collective.
func inOldForms(collective string) bool {
	return collective == "bcast" || collective == "barrier" || collective == "anycast"
}

// hasNewActions reports whether the actions of s need schedgen/4, because a message has several
// slots or because there are partial results or folds.
func (s *Schedule) hasNewActions() bool {
	for rank := range s.Programs {
		if s.Programs[rank].Values > 0 {
			return true
		}
		for i := range s.Programs[rank].Rules {
			for _, a := range s.Programs[rank].Rules[i].Do {
				if a.Joins || a.Op == Fold {
					return true
				}
			}
		}
	}
	return false
}

// WriteJSON writes s, one rule a line, in the first JSON form that can express it. Equal schedules
// have equal bytes, and [ParseJSON] returns an equal schedule. WriteJSON writes nothing and returns
// an error if [Validate] refuses s.
func WriteJSON(w io.Writer, s *Schedule) error {
	if err := Validate(s); err != nil {
		return fmt.Errorf("writing %s as JSON: %w", s.Name(), err)
	}
	out := newPrinter(w)
	form := s.format()
	out.jsonHeader(&s.Header, form)
	out.str(`"programs":[`)
	for r := range s.Programs {
		if r > 0 {
			out.str(",")
		}
		out.str("\n")
		out.jsonProgram(&s.Programs[r], form)
	}
	out.str("]}\n")
	return out.flush(s.Name() + " as JSON")
}

// jsonHeader writes the members before the programs. The names need no escapes, because Validate
// accepts only letters, digits and hyphens.
func (p printer) jsonHeader(h *Header, form string) {
	p.str(`{"format":"` + form + `","collective":"` + h.Collective + `","algorithm":"` + h.Algorithm + `",`)
	p.member("ranks", h.Ranks)
	p.str(",")
	p.member("root", h.Root)
	p.str(",")
	p.member("chunks", h.Chunks)
	if form == FormatBlocks {
		p.str(`,"recovery":` + strconv.FormatBool(h.Recovers))
	}
	p.str(",\n" + `"params":{`)
	for i, param := range h.Params {
		if i > 0 {
			p.str(",")
		}
		p.member(param.Name, param.Value)
	}
	p.str("},\n")
}

// member writes a member whose value is a number.
func (p printer) member(name string, v int) {
	p.str(`"`)
	p.str(name)
	p.str(`":`)
	p.num(v)
}

func (p printer) jsonProgram(g *Program, form string) {
	p.str("{")
	p.member("rank", g.Rank)
	p.str(",")
	p.member("signals", g.Signals)
	if form == FormatBlocks {
		p.str(",")
		p.member("values", g.Values)
	}
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
	for len(actions) > 0 {
		message := MessageOf(actions)
		p.jsonAction(message)
		if actions = actions[len(message):]; len(actions) > 0 {
			p.str(",")
		}
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

func (p printer) jsonAction(message []Action) {
	a := message[0]
	p.str(`{"op":"`)
	p.str(a.Op.String())
	switch renamed := renames(message); {
	case a.Op == Fold:
		p.str(`","slot":"`)
		p.slot(a.As)
		p.str(`","of":`)
		p.jsonEach(message, func(b Action) Slot { return b.Slot })
	case a.Op == Put && (len(message) > 1 || renamed):
		p.str(`","slots":`)
		p.jsonEach(message, func(b Action) Slot { return b.Slot })
		p.str(",")
		p.member("to", int(a.To))
		if renamed {
			p.str(`,"as":`)
			p.jsonEach(message, Action.Sets)
		}
	default:
		p.str(`","slot":"`)
		p.slot(a.Slot)
		p.str(`"`)
		if a.Op == Put {
			p.str(",")
			p.member("to", int(a.To))
		}
	}
	p.str("}")
}

// jsonEach writes one slot of each action of a message.
func (p printer) jsonEach(message []Action, slot func(Action) Slot) {
	p.str("[")
	for i, a := range message {
		if i > 0 {
			p.str(",")
		}
		p.str(`"`)
		p.slot(slot(a))
		p.str(`"`)
	}
	p.str("]")
}
