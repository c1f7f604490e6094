package explore

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/runtime/wire"
)

// story describes events from the beginning in plain words, one a line.
func (s *system) story(events []event) []string {
	w := s.initial()
	var lines []string
	for _, e := range events {
		line := s.sentence(w, e)
		if k := e.kind(); k < evLose || k >= evCancel {
			line += s.consequences(w, e)
		}
		lines = append(lines, line)
		if problem, _ := s.apply(w, e); problem != "" {
			break // the rest has not happened
		}
	}
	return lines
}

// sentence describes e, which is about to happen in w.
func (s *system) sentence(w *world, e event) string {
	rank, l := e.rank(), s.local(w, e.rank())
	switch e.kind() {
	case evEnter:
		return fmt.Sprintf("rank %d enters %s", rank, l.callName(l.begun+1))
	case evReturn:
		return fmt.Sprintf("rank %d returns from %s", rank, l.callName(int(e.index())+1))
	case evFail:
		return fmt.Sprintf("rank %d returns from %s with an error: %v", rank, l.callName(int(e.index())+1), l.broken)
	case evClose:
		return fmt.Sprintf("rank %d closes", rank)
	case evPut, evDatagram:
		return fmt.Sprintf("%s arrives", s.thing(e))
	case evBegin:
		return fmt.Sprintf("the beginning of %s arrives", s.thing(e))
	case evWork:
		return fmt.Sprintf("rank %d folds a part", rank)
	case evAnswer:
		return l.taskWords()
	case evLook:
		m := &s.messages[e.index()]
		return fmt.Sprintf("rank %d sees that rank %d has flagged operation %d in line %d of rank %d", rank, m.header.From, m.header.Seq, m.header.Slot, m.offset)
	case evPlace:
		m := &s.messages[e.index()]
		return fmt.Sprintf("the flag of rank %d for operation %d comes to line %d of rank %d", m.header.From, m.header.Seq, m.header.Slot, rank)
	case evLose:
		return fmt.Sprintf("%s is lost", s.thing(e))
	case evDouble:
		return fmt.Sprintf("%s is doubled", s.thing(e))
	case evLeft:
		return fmt.Sprintf("rank %d hears that rank %d has closed", rank, e.index())
	case evLost:
		return fmt.Sprintf("rank %d notices that rank %d is dead", rank, e.index())
	case evUnreachable:
		return fmt.Sprintf("rank %d cannot connect to rank %d", rank, e.index())
	case evCrash:
		return fmt.Sprintf("rank %d dies", rank)
	case evCancel:
		return fmt.Sprintf("rank %d gives %s up", rank, l.callName(int(e.index())+1))
	}
	operation := ""
	if a := e.alarm(); s.Open > 1 && a.Seq > 0 {
		operation = fmt.Sprintf(" in operation %d", a.Seq)
	}
	return fmt.Sprintf("timer of rank %d: %s%s", rank, s.alarmWords(e.alarm()), operation)
}

func (s *system) alarmWords(a core.Alarm) string {
	switch a.Kind {
	case core.AlarmGate:
		return "the root's delay is over"
	case core.AlarmWindow:
		return fmt.Sprintf("rank %d is late and given up", a.Index)
	case core.AlarmYield:
		return fmt.Sprintf("rank %d has not reported", a.Index)
	case core.AlarmRepair:
		return fmt.Sprintf("the repair of rule %d is due", a.Index)
	case core.AlarmAgain:
		return "a request has not been answered"
	case core.AlarmSilence:
		return "the multicast is silent"
	case core.AlarmUnheard:
		return "nothing has been heard of the multicast"
	case core.AlarmDispute:
		return "nobody has said what both sides of a mismatch have called"
	case core.AlarmAck:
		return fmt.Sprintf("it is time to acknowledge messages %s", s.origin(a.Index/s.Ranks))
	case core.AlarmLack:
		return fmt.Sprintf("it is time to ask for messages %s", s.origin(a.Index/s.Ranks))
	case core.AlarmLate:
		return fmt.Sprintf("rank %d is late with its acknowledgement of messages %s", a.Index%s.Ranks, s.origin(a.Index/s.Ranks))
	case core.AlarmProbe:
		return "nothing has moved"
	}
	return fmt.Sprintf("rank %d has not been heard of", a.Index)
}

// thing names the message that e is about.
func (s *system) thing(e event) string {
	m := &s.messages[e.index()]
	how := "datagram "
	switch {
	case e.kind() == evPut && m.offset > 0:
		how = "the rest of "
	case e.kind() == evPut, e.kind() == evBegin:
		how = ""
	}
	return fmt.Sprintf("%s%s from %d to %d", how, s.content(m), m.header.From, e.rank())
}

// content names the content of a message.
func (s *system) content(m *message) string {
	h := &m.header
	operation := ""
	if len(s.scripts[0]) > 1 {
		operation = fmt.Sprintf(" of operation %d", h.Seq)
	}
	switch h.Kind {
	case wire.FrameSlot:
		piece := ""
		if m.loose && h.Len > pieceBytes && len(m.body) < h.Len {
			piece = fmt.Sprintf("piece %d of ", m.offset/pieceBytes)
		}
		return piece + h.Slot.String() + operation
	case wire.FrameWant:
		unit := "c"
		if m.loose && s.Pieces > 1 {
			unit = "piece "
		}
		if m.body == "" {
			return fmt.Sprintf("report of all below c%d%s", h.Arg, operation)
		}
		return "request for " + runs(m.body, unit) + operation
	case wire.FramePublish:
		return fmt.Sprintf("message %d %s", h.Seq, s.origin(int(h.Arg)))
	case wire.FrameAnswer, wire.FrameUnanswered:
		what := map[wire.FrameKind]string{wire.FrameAnswer: "answer to question", wire.FrameUnanswered: "end of question"}[h.Kind]
		return fmt.Sprintf("%s %d of rank %d", what, h.Seq, h.Arg)
	case wire.FrameAbort:
		return fmt.Sprintf("abort (%s)", m.body)
	case wire.FrameTaken:
		return fmt.Sprintf("report up to c%d%s", h.Arg, operation)
	}
	return map[wire.FrameKind]string{
		wire.FrameJoined: "entry", wire.FrameLate: "lateness", wire.FrameProbe: "probe", wire.FrameLeave: "goodbye",
		wire.FrameCall: "call", wire.FrameEntered: "answer to the call", wire.FrameOver: "word that it is over", wire.FrameAbsent: "absence", wire.FrameListen: "wait", wire.FrameWatch: "question for a sign of life", wire.FrameAlive: "sign of life",
		wire.FrameFlush: "question about messages", wire.FrameAck: "acknowledgement of messages", wire.FrameLost: "request for messages",
		wire.FrameClash: "mismatch of one side", wire.FrameDispute: "mismatch of both sides",
	}[h.Kind] + operation
}

// origin names the origin of messages.
func (s *system) origin(of int) string {
	if of >= s.Ranks {
		return fmt.Sprintf("about questions of rank %d", of-s.Ranks)
	}
	return fmt.Sprintf("of rank %d", of)
}

// runs lists what a request asks for; unit is the word before each number.
func runs(body, unit string) string {
	var units []string
	for ; len(body) >= 8; body = body[8:] {
		first, n := binary.BigEndian.Uint32([]byte(body)), binary.BigEndian.Uint32([]byte(body[4:]))
		for k := first; k < first+n; k++ {
			units = append(units, unit+strconv.Itoa(int(k)))
		}
	}
	return strings.Join(units, ", ")
}

// consequences says what a rank sends when e, which is about to happen in w, happens.
func (s *system) consequences(w *world, e event) string {
	out := s.step(w.ranks[e.rank()], e)
	var parts []string
	for i := range out.sent {
		m := &s.messages[out.sent[i].msg]
		switch {
		case out.sent[i].flag:
			parts = append(parts, fmt.Sprintf("flags operation %d in line %d of rank %d", m.header.Seq, m.header.Slot, m.offset))
		case out.sent[i].to == everybody:
			parts = append(parts, "multicasts "+s.content(m))
		case out.sent[i].loose:
			parts = append(parts, fmt.Sprintf("sends datagram %s to %d", s.content(m), out.sent[i].to))
		default:
			parts = append(parts, fmt.Sprintf("puts %s to %d", s.content(m), out.sent[i].to))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("; rank %d %s", e.rank(), strings.Join(parts, ", "))
}

// waiting names the calls that do not end.
func (s *system) waiting(w *world) string {
	var parts []string
	for rank := range w.ranks {
		switch l := s.local(w, rank); {
		case !l.unfinished:
		case l.inside():
			parts = append(parts, fmt.Sprintf("rank %d waits for ever in %s", rank, l.callName(l.oldest()+1)))
		default:
			parts = append(parts, fmt.Sprintf("rank %d can never enter %s", rank, l.callName(l.begun+1)))
		}
	}
	return strings.Join(parts, ", ")
}

// callName is the name of call n, numbered from 1, in stories.
func (l *local) callName(n int) string {
	if len(l.script) == 1 {
		return l.script[n-1].name()
	}
	return fmt.Sprintf("call %d (%s)", n, l.script[n-1].name())
}
