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
	out.str(`"programs":`)
	out.list("[\n", ",\n", len(s.Programs), func(r int) { out.jsonProgram(&s.Programs[r], form) })
	out.str("}\n")
	return out.flush(s.Name() + " as JSON")
}

// jsonHeader writes the members before the programs. The names need no escapes, because Validate
// accepts only letters, digits and hyphens.
func (p printer) jsonHeader(h *Header, form string) {
	p.str(`{"format":"` + form + `","collective":"` + h.Collective + `","algorithm":"` + h.Algorithm + `"`)
	p.member("ranks", h.Ranks)
	p.member("root", h.Root)
	p.member("chunks", h.Chunks)
	if form == FormatBlocks {
		p.str(`,"recovery":` + strconv.FormatBool(h.Recovers))
	}
	p.str(",\n" + `"params":{`)
	for i, param := range h.Params {
		if i > 0 {
			p.str(",")
		}
		p.str(`"` + param.Name + `":`)
		p.num(param.Value)
	}
	p.str("},\n")
}

// member writes a member whose value is a number, and that is not the first of its object.
func (p printer) member(name string, v int) {
	p.str(`,"`)
	p.str(name)
	p.str(`":`)
	p.num(v)
}

// list writes an array of n elements. open and comma are a bracket and a comma with white space.
func (p printer) list(open, comma string, n int, element func(i int)) {
	if n == 0 {
		open = "["
	}
	p.str(open)
	for i := range n {
		if i > 0 {
			p.str(comma)
		}
		element(i)
	}
	p.str("]")
}

func (p printer) jsonProgram(g *Program, form string) {
	p.str(`{"rank":`)
	p.num(g.Rank)
	p.member("signals", g.Signals)
	if form == FormatBlocks {
		p.member("values", g.Values)
	}
	p.str(`,"rules":`)
	p.list("[\n ", ",\n ", len(g.Rules), func(i int) { p.jsonRule(&g.Rules[i]) })
	p.str(`,"done":`)
	p.jsonSlots(g.Done)
	if len(g.Ask) > 0 {
		p.str(`,"ask":`)
		p.jsonRanks(g.Ask)
	}
	switch {
	case g.Reports && len(g.ReportFrom) > 0:
		p.str(`,"report":{"to":`)
		p.num(int(g.ReportTo))
		p.str(`,"from":`)
		p.jsonRanks(g.ReportFrom)
		p.str("}")
	case g.Reports:
		p.str(`,"report":{"to":`)
		p.num(int(g.ReportTo))
		p.str("}")
	case len(g.ReportFrom) > 0:
		p.str(`,"report":{"from":`)
		p.jsonRanks(g.ReportFrom)
		p.str("}")
	}
	if len(g.Twice) > 0 {
		p.str(`,"twice":`)
		p.jsonActions(g.Twice)
	}
	p.str("}")
}

func (p printer) jsonRule(r *Rule) {
	p.str(`{"when":`)
	p.jsonSlots(r.When)
	if r.IsRepair() {
		p.str(`,"unless":`)
		p.jsonSlot(r.Unless)
		p.member("after", r.After)
	}
	p.str(`,"do":`)
	p.jsonActions(r.Do)
	p.str("}")
}

func (p printer) jsonActions(actions []Action) {
	open := "["
	for len(actions) > 0 {
		message := MessageOf(actions)
		p.str(open)
		p.jsonAction(message)
		actions, open = actions[len(message):], ","
	}
	p.str("]")
}

func (p printer) jsonAction(message []Action) {
	a := message[0]
	p.str(`{"op":"`)
	p.str(a.Op.String())
	renamed := a.Op == Put && renames(message)
	if a.Op == Put && (len(message) > 1 || renamed) {
		p.str(`","slots":`)
		p.list("[", ",", len(message), func(i int) { p.jsonSlot(message[i].Slot) })
	} else {
		p.str(`","slot":`)
		p.jsonSlot(a.Sets())
	}
	if a.Op == Put {
		p.member("to", int(a.To))
	}
	if renamed {
		p.str(`,"as":`)
		p.list("[", ",", len(message), func(i int) { p.jsonSlot(message[i].Sets()) })
	}
	if a.Op == Fold {
		p.str(`,"of":`)
		p.list("[", ",", len(message), func(i int) { p.jsonSlot(message[i].Slot) })
	}
	p.str("}")
}

func (p printer) jsonSlots(slots []Slot) {
	p.list("[", ",", len(slots), func(i int) { p.jsonSlot(slots[i]) })
}

func (p printer) jsonRanks(ranks []int32) {
	p.list("[", ",", len(ranks), func(i int) { p.num(int(ranks[i])) })
}

func (p printer) jsonSlot(s Slot) {
	p.str(`"`)
	p.slot(s)
	p.str(`"`)
}
