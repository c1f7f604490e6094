package core

import "github.com/schedgen/schedgen/internal/core/internal/encode"

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
	s.B = c.messages.AppendState(s.B)
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
