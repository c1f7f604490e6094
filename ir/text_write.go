package ir

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// WriteText writes the canonical text form of s: an indent of two spaces, one rule a line,
// parameters sorted by name, and a line feed after every line. Equal schedules have equal text, and
// [ParseText] returns an equal schedule. WriteText writes nothing and returns an error if
// [Validate] refuses s.
func WriteText(w io.Writer, s *Schedule) error {
	if err := Validate(s); err != nil {
		return fmt.Errorf("writing %s as text: %w", s.Name(), err)
	}
	out := newPrinter(w)
	out.textHeader(&s.Header)
	signals, values := derivedCounts(s)
	for r := range s.Programs {
		out.textProgram(&s.Programs[r], signals[r], values[r])
	}
	return out.flush(s.Name() + " as text")
}

// derivedCounts returns, by rank, the numbers of signals and of partial results that the rules
// show. The number is one more than the highest index that the rank waits for, uses or makes, or
// that another rank puts to it. The text names a number only if it differs.
func derivedCounts(s *Schedule) (signals, values []int) {
	signals, values = make([]int, s.Ranks), make([]int, s.Ranks)
	see := func(rank int, slot Slot) {
		switch slot.Kind() {
		case KindSignal:
			signals[rank] = max(signals[rank], slot.Index()+1)
		case KindValue:
			values[rank] = max(values[rank], slot.Index()+1)
		}
	}
	for rank := range s.Programs {
		p := &s.Programs[rank]
		for i := range p.Rules {
			for _, slot := range p.Rules[i].When {
				see(rank, slot)
			}
			see(rank, p.Rules[i].Unless)
			for _, a := range p.Rules[i].Do {
				switch {
				case a.Op == Put && a.Slot.Kind() != KindSignal:
					see(rank, a.Slot)
					see(int(a.To), a.As)
				case a.Op == Put:
					see(int(a.To), a.Slot)
				default:
					see(rank, a.Slot)
					see(rank, a.As)
				}
			}
		}
		for _, slot := range p.Done {
			see(rank, slot)
		}
		for _, a := range p.Twice {
			see(int(a.To), a.Slot)
		}
	}
	return signals, values
}

// printer writes the pieces of both forms. The bufio.Writer keeps the first error, and flush
// returns it.
type printer struct{ *bufio.Writer }

func newPrinter(w io.Writer) printer { return printer{bufio.NewWriterSize(w, 1<<15)} }

func (p printer) str(s string) { p.WriteString(s) }

func (p printer) num(n int) { p.Write(strconv.AppendInt(p.AvailableBuffer(), int64(n), 10)) }

func (p printer) slot(s Slot) { p.Write(appendSlot(p.AvailableBuffer(), s)) }

func (p printer) flush(what string) error {
	if err := p.Flush(); err != nil {
		return fmt.Errorf("writing %s: %w", what, err)
	}
	return nil
}

func (p printer) textHeader(h *Header) {
	p.str("schedule " + h.Name())
	p.str(" ranks=")
	p.num(h.Ranks)
	if h.Rooted() {
		p.str(" root=")
		p.num(h.Root)
	}
	if h.HasMessage() || h.Chunks > 0 {
		p.str(" chunks=")
		p.num(h.Chunks)
	}
	if h.Recovers {
		p.str(" " + recoveryWord)
	}
	for _, param := range h.Params {
		p.str(" " + param.Name + "=")
		p.num(param.Value)
	}
	p.str("\n")
}

func (p printer) textProgram(g *Program, signals, values int) {
	p.str("rank ")
	p.num(g.Rank)
	if g.Signals != signals {
		p.str(" signals=")
		p.num(g.Signals)
	}
	if g.Values != values {
		p.str(" values=")
		p.num(g.Values)
	}
	p.str("\n")
	for i := range g.Rules {
		p.textRule(&g.Rules[i])
	}
	p.str("  done")
	for _, s := range g.Done {
		p.str(" ")
		p.slot(s)
	}
	p.str("\n")
	p.textRecovery(&g.Recovery)
}

func (p printer) textRule(r *Rule) {
	p.str("  ")
	for _, s := range r.When {
		p.slot(s)
		p.str(" ")
	}
	if r.IsRepair() {
		p.str("unless ")
		p.slot(r.Unless)
		p.str(" after ")
		p.num(r.After)
		p.str(" ")
	}
	p.str("-> ")
	for do := r.Do; len(do) > 0; {
		message := MessageOf(do)
		p.textAction(message)
		if do = do[len(message):]; len(do) > 0 {
			p.str(", ")
		}
	}
	p.str("\n")
}

func (p printer) textAction(message []Action) {
	switch message[0].Op {
	case Mcast:
		p.str("mcast ")
		p.slot(message[0].Slot)
		return
	case Fold:
		p.str("fold ")
		p.slot(message[0].As)
		p.str(" =")
		for _, a := range message {
			p.str(" ")
			p.slot(a.Slot)
		}
		return
	}
	p.str("put ")
	for _, a := range message[:len(message)-1] {
		p.slot(a.Slot)
		p.str(" ")
	}
	p.textPlace(message[len(message)-1])
	if renames(message) {
		p.str(" as")
		for _, a := range message {
			p.str(" ")
			p.slot(a.Sets())
		}
	}
}

// renames reports whether a slot of the message has another name at the destination.
func renames(message []Action) bool {
	return slices.ContainsFunc(message, func(a Action) bool { return a.As != None })
}

// textPlace writes the slot and the destination of a put.
func (p printer) textPlace(a Action) {
	p.slot(a.Slot)
	p.str(" @")
	p.num(int(a.To))
}
