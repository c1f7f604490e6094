package explore

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Flags stand in their lines as soon as they are written, or, in remote windows, some time
// later, those of one rank to another in order; at any moment after that the driver of a rank
// looks. A flag is a message that tells where it stands: the line is its slot, and the rank whose
// window that is of its offset.

// flagbox is an outbox by which flags go too.
type flagbox struct {
	*outbox
	rank int
}

var _ core.ShelfNet = flagbox{}

// Reaches implements [core.FlagNet].
func (b flagbox) Reaches(rank int) bool { return b.sys.reaches(b.rank, rank) }

// Flag implements [core.FlagNet].
func (b flagbox) Flag(to, line int, f wire.Flag) { b.raise(to, line, f, nil) }

// Waits implements [core.FlagNet].
func (b flagbox) Waits() bool { return b.sys.Windows.Remote }

// Post implements [core.FlagNet].
func (b flagbox) Post(line int, _ []int, f wire.Flag) { b.raise(f.From, line, f, nil) }

// Lay implements [core.ShelfNet]. There are not so many operations that a line is used again.
func (b flagbox) Lay(line int, _ []int, f wire.Flag, body []byte, _ int) (lent, ok bool) {
	b.raise(f.From, line, f, body)
	return false, true
}

// Revoke implements [core.ShelfNet].
func (b flagbox) Revoke(int) {}

// Passed implements [core.ShelfNet].
func (b flagbox) Passed(uint64) {}

// Note implements [core.ShelfNet].
func (b flagbox) Note(seq uint64, fingerprint uint32) {
	b.raise(b.rank, wire.CallLine+int(seq), wire.Flag{Seq: seq, Mark: uint64(fingerprint) << 32, From: b.rank}, nil)
}

func (b flagbox) raise(of, line int, f wire.Flag, body []byte) {
	m := message{offset: of, body: string(body), header: wire.Header{
		Seq: f.Seq, Print: uint32(f.Mark >> 32), Epoch: uint32(f.Mark), From: f.From, Slot: ir.Slot(line),
	}}
	if b.sys.tamper != nil {
		b.sys.tamper(&m)
	}
	b.sent = append(b.sent, send{to: uint8(of), flag: true, msg: b.sys.intern(m)})
}

// reaches reports whether flags of a rank reach another.
func (s *system) reaches(from, to int) bool {
	return from < s.Windows.Ranks && to < s.Windows.Ranks && from != to
}

// net returns the way out of a rank's core that keeps what is sent in b.
func (s *system) net(rank int, b *outbox) core.Net {
	switch {
	case s.Windows.Ranks > 0 && s.Windows.Remote:
		return struct{ core.FlagNet }{flagbox{b, rank}} // no chunks stand there
	case s.Windows.Ranks > 0:
		return flagbox{b, rank}
	}
	return b
}

// lineOf numbers the lines of all windows.
func lineOf(rank, line int) uint32 { return uint32(rank*wire.WindowLines + line) }

func (m *message) lineOf() uint32 { return lineOf(m.offset, int(m.header.Slot)) }

// flag returns the message as the flag that it is.
func (m *message) flag() wire.Flag {
	h := &m.header
	return wire.Flag{Seq: h.Seq, Mark: uint64(h.Print)<<32 | uint64(h.Epoch), From: h.From}
}

// raise has a flag stand in its line. The list has pairs of lines and messages, by line.
func (s *system) raise(w *world, msg uint32) {
	at := s.messages[msg].lineOf()
	for i := 0; i < len(w.flags); i += 2 {
		switch {
		case w.flags[i] == at:
			w.flags[i+1] = msg
			return
		case w.flags[i] > at:
			w.flags = slices.Insert(w.flags, i, at, msg)
			return
		}
	}
	w.flags = append(w.flags, at, msg)
}

// looks are the flags that a rank finds when it looks.
func (s *system) looks(w *world, rank int, will []event) []event {
	l := s.local(w, rank)
	if l.gone() {
		return will
	}
	for i := 0; i < len(w.flags); i += 2 {
		m := &s.messages[w.flags[i+1]]
		own := m.offset == rank && m.header.Slot < wire.FlagLines && m.header.Seq > l.core.Awaits().Over
		if e := newEvent(evLook, rank, w.flags[i+1]); l.awaits(m) >= 0 || (own || l.differs(m)) && !s.step(w.ranks[rank], e).idle {
			will = append(will, e)
		}
	}
	return will
}

// awaits returns where among the awaited flags m is, -1 if it is not.
func (l *local) awaits(m *message) int {
	a := l.core.Awaits()
	return slices.IndexFunc(a.Flags, func(p core.Awaited) bool {
		return m.header.Seq == p.Seq && lineOf(p.Rank, p.Line) == m.lineOf()
	})
}

// differs reports whether m is the note of another rank that has called something else than this
// one.
func (l *local) differs(m *message) bool {
	h := &m.header
	mine, called := l.core.Called(h.Seq)
	return called && h.Slot >= wire.CallLine && h.From != l.rank && h.Print != mine
}

// find has the driver of l find a flag.
func (l *local) find(m *message) {
	switch i := l.awaits(m); {
	case i >= 0:
		if dst, chunk := l.core.Buffer(i, m.flag()); chunk {
			copy(dst, m.body)
		}
		l.core.Flagged(i, m.flag())
	case m.header.Slot >= wire.CallLine:
		l.core.Noted(m.offset, m.header.Seq, m.header.Print)
	default:
		l.core.Stray(m.flag())
	}
}
