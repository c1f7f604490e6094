package explore

import (
	"slices"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// The model of flags. A flag stands in its line as soon as it is written. In a remote window it
// stands there some time later, and the flags from one rank to another keep their order. The driver
// of a rank may look at its flags at any moment after that. A flag is represented by a message: its
// slot is the line, and its offset is the rank that owns the window.

// flagbox is an outbox that also sends flags.
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

// Lay implements [core.ShelfNet]. There are too few operations for a line to be used again.
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

// reaches reports whether flags of rank from reach rank to.
func (s *system) reaches(from, to int) bool {
	return from < s.Windows.Ranks && to < s.Windows.Ranks && from != to
}

// net returns a network for the core of a rank. It collects in b everything that the core sends.
func (s *system) net(rank int, b *outbox) core.Net {
	switch {
	case s.Windows.Ranks > 0 && s.Windows.Remote:
		return struct{ core.FlagNet }{flagbox{b, rank}} // chunks do not stand in remote windows
	case s.Windows.Ranks > 0:
		return flagbox{b, rank}
	}
	return b
}

// lineOf numbers the lines of all windows.
func lineOf(rank, line int) uint32 { return uint32(rank*wire.WindowLines + line) }

func (m *message) lineOf() uint32 { return lineOf(m.offset, int(m.header.Slot)) }

// flag returns the flag that m represents.
func (m *message) flag() wire.Flag {
	h := &m.header
	return wire.Flag{Seq: h.Seq, Mark: uint64(h.Print)<<32 | uint64(h.Epoch), From: h.From}
}

// raise puts a flag into its line. w.flags holds pairs of a line and a message, ordered by line.
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

// looks appends the flags that a rank finds when it looks.
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

// awaits returns the index of m among the flags that the rank awaits, or -1.
func (l *local) awaits(m *message) int {
	a := l.core.Awaits()
	return slices.IndexFunc(a.Flags, func(p core.Awaited) bool {
		return m.header.Seq == p.Seq && lineOf(p.Rank, p.Line) == m.lineOf()
	})
}

// differs reports whether m is the note of a rank that has called another operation than this rank.
func (l *local) differs(m *message) bool {
	h := &m.header
	mine, called := l.core.Called(h.Seq)
	return called && h.Slot >= wire.CallLine && h.From != l.rank && h.Print != mine
}

// find lets the driver of l find flag m.
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
