package publish

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/core/internal/encode"
	"github.com/schedgen/schedgen/runtime/core/presence"
)

// Clone implements [Messages].
func (t *tree) Clone(host Host, members *presence.Roster) Messages {
	n := &tree{end: t.clone(host, members), sources: t.sources, sought: t.sought}
	n.origins = make([]*origin, len(t.origins))
	for i, o := range t.origins {
		if o != nil {
			copied := *o
			copied.branches, copied.question.by = slices.Clone(o.branches), slices.Clone(o.question.by)
			n.origins[i] = &copied
		}
	}
	n.own = sender{origin: n.origins[t.Rank], bytes: t.own.bytes, before: slices.Clone(t.own.before)}
	n.own.parcels = make([]parcel, len(t.own.parcels))
	for i := range t.own.parcels {
		n.own.parcels[i] = *t.own.parcels[i].clone()
	}
	return n
}

// AppendState implements [Messages].
func (t *tree) AppendState(dst []byte) []byte {
	s := state{encode.Buffer{B: dst}}
	for _, o := range t.origins {
		if s.Flags(o != nil); o != nil {
			s.origin(o)
		}
	}
	s.Num(t.inbox.len())
	for _, l := range t.inbox.letters[t.inbox.head:] {
		s.Num(l.origin)
		s.U64(l.seq)
		s.Bytes(l.parcel.data)
		s.Num(l.parcel.unsent)
	}
	s.Flags(t.listening)
	s.U64(t.own.bytes)
	s.Words(t.own.before)
	return s.B
}

func (s *state) origin(o *origin) {
	s.Num(o.from)
	s.Num(len(o.branches))
	for i := range o.branches {
		b := &o.branches[i]
		s.Num(b.rank)
		s.Num(int(b.state))
		s.U64(b.credit)
		s.U64(b.here)
		s.U64(b.passed)
	}
	q := &o.question
	s.Num(len(q.by))
	for _, by := range q.by {
		s.Num(by)
	}
	s.Num(q.via)
	s.U64(q.wanted)
	s.U64(q.asked)
	s.U64(q.answered)
	s.U64(o.next)
	s.U64(o.consumed)
	s.U64(o.step)
	s.Num(o.bytes)
	s.Num(o.waiting)
	s.U64(o.passed)
}
