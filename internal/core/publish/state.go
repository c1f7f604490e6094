package publish

import (
	"slices"

	"github.com/schedgen/schedgen/internal/core/internal/encode"
	"github.com/schedgen/schedgen/internal/core/presence"
)

// Clone returns an independent copy for another host and its roster.
func (m *Messages) Clone(host Host, members *presence.Roster) *Messages {
	n := *m
	n.host, n.members = host, members
	n.inbox, n.spare = m.inbox.clone(), spare{}
	n.incoming = make([]*parcel, len(m.incoming))
	for i, p := range m.incoming {
		if p != nil {
			n.incoming[i] = p.clone()
		}
	}
	n.sources.list, n.listeners = slices.Clone(m.sources.list), slices.Clone(m.listeners)
	n.streams = make([]*stream, len(m.streams))
	for i, st := range m.streams {
		if st != nil {
			n.streams[i] = st.clone()
		}
	}
	return &n
}

func (st *stream) clone() *stream {
	n := *st
	n.below = slices.Clone(st.below)
	for i := range n.below {
		n.below[i].lacks = slices.Clone(st.below[i].lacks)
	}
	n.ring = slices.Clone(st.ring)
	for i := range n.ring {
		p := &n.ring[i]
		p.got = slices.Clone(p.got)
		if p.parcel != nil {
			p.parcel = p.parcel.clone()
		}
	}
	return &n
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
