package publish

import (
	"slices"

	"github.com/schedgen/schedgen/internal/core/internal/encode"
)

// Normalize makes Messages equal if they differ only in messages that are no longer kept.
func (m *Messages) Normalize() {
	m.inbox = inbox{letters: m.inbox.letters[m.inbox.head:]}
	slices.Sort(m.listeners)
	for _, st := range m.streams {
		for i := 0; st != nil && i < len(st.ring); i++ {
			if p := &st.ring[i]; p.state == pieceNone {
				*p = piece{seq: p.seq, before: p.before}
			}
		}
	}
}

// AppendState appends the state that determines all later steps.
func (m *Messages) AppendState(dst []byte) []byte {
	s := state{encode.Buffer{B: dst}}
	for _, st := range m.streams {
		if s.Flags(st != nil); st != nil {
			s.stream(st)
		}
	}
	s.Num(m.inbox.len())
	for _, l := range m.inbox.letters[m.inbox.head:] {
		s.Num(l.origin)
		s.U64(l.seq)
	}
	s.Flags(m.sources.listening, m.used)
	s.Num(len(m.listeners))
	for _, rank := range slices.Sorted(slices.Values(m.listeners)) {
		s.Num(rank)
	}
	return s.B
}

func (s *state) stream(st *stream) {
	s.Num(st.up)
	s.Num(len(st.below))
	for i := range st.below {
		b := &st.below[i]
		s.Num(b.rank)
		s.progress(b.progress)
		s.Flags(b.waits, b.late.on)
		s.U64(b.asked)
		s.U64(b.mark)
		s.Words(b.lacks)
	}
	for _, n := range [...]uint64{st.next, st.known, st.asked, st.consumed, st.freed, st.wanted} {
		s.U64(n)
	}
	s.progress(st.own)
	s.progress(st.told)
	s.Flags(st.ack.on, st.lack.on)
	s.Num(len(st.ring))
	for i := range st.ring {
		p := &st.ring[i]
		if s.Num(int(p.state)); p.state != pieceNone {
			s.Bytes(p.data)
			s.Num(p.unsent)
			s.Num(p.bytes)
			s.Words(p.got)
		}
	}
	for _, seq := range [...]uint64{st.own.here, st.own.taken, st.all().here, st.all().taken} {
		l := st.came.minus(st.before(seq))
		s.U64(l.bytes)
		s.U64(l.room)
	}
}

func (s *state) progress(p progress) {
	s.U64(p.here)
	s.U64(p.taken)
}
