package explore

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/internal/deep"
	"github.com/schedgen/schedgen/runtime/wire"
)

// event is one event in 32 bits: its kind, the rank at which it happens, and what it is about.
type event uint32

type eventKind uint8

const (
	evEnter       eventKind = iota // the process enters its next call
	evReturn                       // a call returns; of: the call, numbered from 0
	evFail                         // a call returns an error, and with it all open calls; of: the call
	evClose                        // the process closes its communicator
	evPut                          // the first message of a lane arrives; of: the message
	evDatagram                     // a datagram arrives; of: the message
	evLeft                         // the rank learns that another has left; of: the other rank
	evLost                         // the rank notices that another is dead; of: the other rank
	evUnreachable                  // a connection to a rank that has died or closed fails; of: the other rank
	evRing                         // an alarm rings; of: its kind and index
	evLose                         // a datagram to the rank is lost; of: the message
	evDouble                       // a datagram to the rank is duplicated; of: the message
	evCrash                        // the rank dies
	evCancel                       // the process cancels a call; of: the call
	evLook                         // the rank finds a flag; of: the message
	evPlace                        // a flag arrives in its line of the rank's window; of: the message
	evAnswer                       // the process takes a question or a result, or answers the question that it has taken
	evWork                         // the rank does a part of a fold
	evBegin                        // the first piece of the first message of a lane arrives; of: the message
)

const (
	maxOf     = 1<<24 - 1
	alarmBits = 15 // of the index of an alarm
	seqBits   = 5  // of the operation of an alarm
)

func newEvent(k eventKind, rank int, of uint32) event {
	return event(uint32(k)<<27 | uint32(rank)<<24 | of)
}

func (e event) kind() eventKind { return eventKind(e >> 27) }
func (e event) rank() int       { return int(e >> 24 & 7) }
func (e event) index() uint32   { return uint32(e & maxOf) }

func ofAlarm(a core.Alarm) uint32 {
	return uint32(a.Kind)<<(alarmBits+seqBits) | uint32(a.Seq)<<alarmBits | uint32(a.Index)
}

func (e event) alarm() core.Alarm {
	return core.Alarm{
		Kind: core.AlarmKind(e.index() >> (alarmBits + seqBits)), Seq: uint64(e.index() >> alarmBits & (1<<seqBits - 1)), Index: int(e.index() & (1<<alarmBits - 1)),
	}
}

// outcome is the effect of an event on the rank at which it happens.
type outcome struct {
	next    uint32 // the new state of the rank
	held    bool   // nothing has happened: the frame or datagram has to wait
	idle    bool   // the state is the same and nothing has been sent
	sent    []send
	problem string // a violated property, or ""
}

// step returns the effect of e on its rank in state id. It computes each effect once.
func (s *system) step(id uint32, e event) *outcome {
	key := stepKey(id, e)
	out := s.outcomes[key]
	if out == nil {
		out = s.work(id, e)
		s.outcomes[key] = out
	}
	return out
}

func stepKey(id uint32, e event) uint64 { return uint64(id)<<32 | uint64(e) }

func (s *system) work(id uint32, e event) *outcome {
	l := deep.Copy(s.form, s.locals[id])
	out := &outcome{}
	if out.problem = s.try(l, e, out); out.held {
		return out
	}
	out.sent, l.out.sent = l.out.sent, nil
	if again := s.record(l, out.sent); out.problem == "" {
		out.problem = again
	}
	out.next = s.add(l)
	out.idle = out.next == id && len(out.sent) == 0 && out.problem == ""
	return out
}

// try applies e to l. It reports a panic of the core as a problem.
func (s *system) try(l *local, e event, out *outcome) (problem string) {
	defer func() {
		if r := recover(); r != nil {
			problem = fmt.Sprintf("panic: %v", r)
		}
	}()
	problem = s.happen(l, e, out)
	if e.kind() != evRing {
		l.core.Normalize()
	}
	if problem == "" && !l.gone() && l.failed == "" && s.scribbled(l) {
		problem = fmt.Sprintf("the buffer of rank %d is written to though its call has returned", l.rank)
	}
	return problem
}

// scribbled reports whether memory that belongs to no open call has been written to.
func (s *system) scribbled(l *local) bool {
	for at := range s.Open {
		call := l.begun - 1 - at // calls that may be open at once have different parts
		if (call < 0 || !l.isOpen(call)) && !uniform(l.partOf(s, call+s.Open), spent) {
			return true
		}
	}
	return false
}

func uniform(b []byte, v byte) bool { return bytes.Count(b, []byte{v}) == len(b) }

var (
	errCrash   = errors.New("it has died")
	errCancel  = errors.New("it has given up")
	errRefused = errors.New("refused")
)

func (s *system) happen(l *local, e event, out *outcome) (problem string) {
	switch e.kind() {
	case evEnter:
		s.enter(l)
	case evReturn:
		return s.leave(l, int(e.index()))
	case evFail:
		s.fail(l, int(e.index()), l.core.Err())
	case evCancel:
		s.fail(l, int(e.index()), errCancel)
	case evClose:
		l.quit = !l.core.Close(errClosed)
		l.core.Goodbye(!l.quit)
		l.closed = true
	case evPut:
		return s.deliver(l, &s.messages[e.index()], out)
	case evBegin:
		s.deliverBeginning(l, &s.messages[e.index()], out)
	case evWork:
		l.core.Work()
	case evDatagram:
		m := &s.messages[e.index()]
		h := m.header
		s.misread(l, &h)
		out.held = l.core.Fragment(&h, m.offset, []byte(m.body)) == wire.Hold
	case evAnswer:
		return s.answer(l)
	case evLook:
		l.find(&s.messages[e.index()])
	case evLeft:
		l.core.Ended(int(e.index()), wire.Closed, nil)
	case evLost:
		l.core.Ended(int(e.index()), wire.Broken, errCrash)
	case evUnreachable:
		l.core.Ended(int(e.index()), wire.Refused, errRefused)
	case evRing:
		if !l.core.Ring(e.alarm()) {
			return fmt.Sprintf("rank %d does not say that it waits for time, though it does", l.rank)
		}
	}
	return ""
}

var errClosed = errors.New("communicator is closed")

// enter makes the next call.
func (s *system) enter(l *local) {
	c := l.script[l.begun]
	l.begun++
	if err := l.core.Err(); err != nil {
		l.failed = err.Error()
		return
	}
	switch {
	case c.Origin != l.rank:
	case c.Flush:
		l.core.Flush()
	case c.Asks != nil:
		l.core.Ask(c.message)
	}
	if c.isMessage() {
		return
	}
	buf := l.bytesOf(s, l.begun-1)
	mem := c.buffers(l.rank, buf)
	copy(buf, bytes.Repeat([]byte{blank}, len(buf)))
	if c.block > 0 {
		copy(mem.In, c.held(l.rank))
	}
	l.core.Begin(c.plans[l.rank], mem)
}

// leave returns from an open call without error, and checks the call's results.
func (s *system) leave(l *local, call int) (problem string) {
	c, buf := l.script[call], l.bytesOf(s, call)
	l.over = l.over.with(call)
	if c.isMessage() {
		problem = s.leaveMessage(l, c)
	} else {
		l.core.End(c.seq)
		if begun, ended := l.core.Seq(); !l.inside() && begun != ended {
			return fmt.Sprintf("rank %d has returned from operation %d and counts %d as ended", l.rank, begun, ended)
		}
		if c.block > 0 {
			problem = s.compare(l, call, c.buffers(l.rank, buf).Out)
		}
	}
	copy(buf, bytes.Repeat([]byte{spent}, len(buf)))
	return problem
}

// compare returns the problem if the output of a call differs from what the rank wants.
func (s *system) compare(l *local, call int, out []byte) (problem string) {
	c := l.script[call]
	wanted := c.Schedule.Wanted(l.rank)
	want := c.contents(wanted)
	at := mismatch(out, want)
	if at < 0 {
		return ""
	}
	chunk := wanted.At(at/c.block)*wanted.Per + c.chunkAt(at%c.block, s.Pieces)
	return fmt.Sprintf("rank %d returns from %s with wrong data: c%d is % x, not % x",
		l.rank, l.callName(call+1), chunk, pieceAt(out, at), pieceAt(want, at))
}

func (s *system) leaveMessage(l *local, c *call) (problem string) {
	switch {
	case c.Asks != nil && c.Origin == l.rank:
		data, err, _ := l.core.Result(l.asked(c))
		return s.result(l, c, data, err)
	case c.Flush || c.Asks != nil:
		return ""
	}
	if c.Origin == l.rank {
		l.core.Publish(c.message)
		return ""
	}
	m := l.core.Take()
	want := l.message(m.Origin, int(l.taken[m.Origin]))
	if m.Seq != uint64(l.taken[m.Origin]) || !bytes.Equal(m.Data, want) {
		return fmt.Sprintf("rank %d takes message %d of rank %d, % x, and not message %d, % x",
			l.rank, m.Seq, m.Origin, m.Data, l.taken[m.Origin], want)
	}
	l.taken[m.Origin]++
	return ""
}

// message returns message n of an origin, numbered from 0, or nil if there is none. Messages of
// different origins have no order.
func (l *local) message(origin, n int) []byte {
	for _, c := range l.script {
		if c.publishes() && c.Origin == origin {
			if n--; n < 0 {
				return c.message
			}
		}
	}
	return nil
}

// published returns how many messages the rank publishes before a call.
func (l *local) published(call int) (n uint64) {
	for _, c := range l.script[:call] {
		if c.publishes() && c.Origin == l.rank {
			n++
		}
	}
	return n
}

// mismatch returns the first index at which a and b, of equal length, differ, or -1.
func mismatch(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// pieceAt returns the piece of b that contains byte at.
func pieceAt(b []byte, at int) []byte {
	at -= at % pieceBytes
	return b[at:min(at+pieceBytes, len(b))]
}

func (c *call) chunkAt(at, pieces int) int { return at / (pieces * pieceBytes) }

// fail returns from an open call with err, and from all other open calls too, as a communicator
// does.
func (s *system) fail(l *local, call int, err error) {
	c := l.script[call]
	l.failed = err.Error()
	if !c.isMessage() {
		l.failed = l.core.Fail(c.name(), c.seq, err).Error()
		l.core.Abandon()
	}
}

// deliver offers m, the first message of a lane, to l.
func (s *system) deliver(l *local, m *message, out *outcome) (problem string) {
	h := m.header
	s.misread(l, &h)
	dst, verdict := l.core.Body(&h)
	switch verdict {
	case wire.Hold:
		out.held = true
	case wire.Accept:
		if len(dst) != m.offset+len(m.body) {
			return fmt.Sprintf("rank %d has a buffer of %d bytes for a body of %d", l.rank, len(dst), m.offset+len(m.body))
		}
		copy(dst[m.offset:], m.body)
		l.core.Arrived(&h, dst)
	}
	return ""
}

// deliverBeginning offers the first piece of m, the first message of a lane, to l. Nothing happens
// if l does not want the message.
func (s *system) deliverBeginning(l *local, m *message, out *outcome) {
	h := m.header
	dst, verdict := l.core.Body(&h)
	out.held = verdict != wire.Accept
	copy(dst, m.body[:pieceBytes])
}

// misread makes l take a message for another one, if a test has set mistake.
func (s *system) misread(l *local, h *wire.Header) {
	if s.mistake != nil {
		s.mistake(l, h)
	}
}
