package core

import "github.com/schedgen/schedgen/runtime/core/internal/encode"

// AppendState appends the state that determines all later steps of c. If two normalized cores of
// one rank have the same state, they do and send the same from then on. The state excludes
// configuration, counters, durations, memory kept for reuse, and leftovers of ended operations.
//
// TestStateHasEveryField says for every field of the core's types whether it belongs to the state.
func (c *Core) AppendState(dst []byte) []byte {
	s := state{encode.Buffer{B: dst}}
	s.failure(&c.fate)
	s.B = c.members.AppendState(s.B)
	s.operations(&c.ops)
	s.casts(&c.casts)
	s.spread(&c.spread)
	s.surveys(&c.surveys)
	s.agreement(&c.agree)
	return s.B
}

// state is a state under construction.
type state struct{ encode.Buffer }

func (s *state) failure(f *failure) {
	s.Flags(f.err != nil, f.closing, f.orderly)
	if f.err != nil {
		s.Text(f.err.Error())
		s.Text(f.why.text)
		s.Num(int(f.why.cause))
		s.Num(f.why.origin)
		s.Num(f.why.about)
	}
	s.B = f.dispute.AppendState(s.B, f.err != nil)
	for rank := range f.Size {
		s.Flags(f.told[rank], f.passed[uint32(rank)])
	}
}

func (s *state) agreement(a *agreement) {
	s.Flags(a.settled, a.out != nil)
	s.B = a.AppendState(s.B)
}

func (s *state) casts(rl *rootless) {
	for _, o := range rl.origins {
		if s.Flags(o != nil); o != nil {
			s.origin(o)
		}
	}
	s.Num(rl.inbox.len())
	for _, l := range rl.inbox.letters[rl.inbox.head:] {
		s.Num(l.origin)
		s.U64(l.seq)
		s.Bytes(l.parcel.data)
		s.Num(l.parcel.unsent)
	}
	s.Flags(rl.listening)
	s.U64(rl.own.bytes)
	s.Words(rl.own.before)
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
