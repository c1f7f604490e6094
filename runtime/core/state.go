package core

import "encoding/binary"

// AppendState appends the state that determines all later steps of c. If two normalized cores of
// one rank have the same state, they do and send the same from then on. The state excludes
// configuration, counters, durations, memory kept for reuse, and leftovers of ended operations.
//
// TestStateHasEveryField says for every field of the core's types whether it belongs to the state.
func (c *Core) AppendState(dst []byte) []byte {
	s := state{dst}
	s.failure(&c.fate)
	s.members(&c.members)
	s.operations(&c.ops)
	s.casts(&c.casts)
	s.spread(&c.spread)
	s.surveys(&c.surveys)
	s.agreement(&c.agree)
	return s.b
}

// state is a state under construction: numbers, and values prefixed by their lengths, so that it
// can be read in only one way.
type state struct{ b []byte }

func (s *state) num(n int)      { s.b = binary.AppendVarint(s.b, int64(n)) }
func (s *state) u64(n uint64)   { s.b = binary.AppendUvarint(s.b, n) }
func (s *state) text(t string)  { s.num(len(t)); s.b = append(s.b, t...) }
func (s *state) bytes(p []byte) { s.num(len(p)); s.b = append(s.b, p...) }

// flags appends up to eight flags in a byte.
func (s *state) flags(bits ...bool) {
	var b byte
	for i, bit := range bits {
		if bit {
			b |= 1 << i
		}
	}
	s.b = append(s.b, b)
}

func (s *state) words(w []uint64) {
	s.num(len(w))
	for _, x := range w {
		s.u64(x)
	}
}

func (s *state) failure(f *failure) {
	s.flags(f.err != nil, f.closing)
	if f.err != nil {
		s.text(f.err.Error())
		s.text(f.why.text)
		s.num(int(f.why.cause))
		s.num(f.why.origin)
		s.num(f.why.about)
	}
	if s.flags(f.disputes(), f.dispute.whole); f.disputes() {
		s.num(f.dispute.about)
		s.text(f.dispute.text)
	}
	for rank := range f.Size {
		s.flags(f.told[rank], f.passed[uint32(rank)])
	}
}

func (s *state) members(m *membership) {
	s.num(len(m.absent))
	for i := range m.absent {
		a := &m.absent[i]
		s.num(a.rank)
		s.num(int(a.state))
		s.flags(a.silent)
		s.u64(a.last)
		s.num(int(a.print))
		if a.state == suspected {
			s.text(a.err.Error())
		}
	}
}

func (s *state) agreement(a *agreement) {
	s.u64(a.last)
	s.u64(a.taken)
	s.flags(a.settled, a.out != nil)
	s.num(len(a.ballots))
	for _, b := range a.ballots {
		s.ballot(b)
	}
}

func (s *state) ballot(b *ballot) {
	s.u64(b.number)
	s.flags(b.voted, b.raised, b.known)
	for _, v := range [...]Vote{b.own, b.joined, b.is} {
		s.u64(v.Flags)
		s.u64(uint64(v.Generation))
		for _, of := range v.came {
			s.u64(of.least)
			s.u64(of.most)
		}
	}
	s.answers(b.answers)
	s.answers(b.agreed)
	for _, set := range [...]rankset{b.lost, b.silent, b.gone, b.without, b.apart, b.dead.lost, b.dead.silent} {
		s.words(set)
	}
	s.num(len(b.missing))
	for _, rank := range b.missing {
		s.num(rank)
	}
}

func (s *state) casts(rl *rootless) {
	for _, o := range rl.origins {
		if s.flags(o != nil); o != nil {
			s.origin(o)
		}
	}
	s.num(rl.inbox.len())
	for _, l := range rl.inbox.letters[rl.inbox.head:] {
		s.num(l.origin)
		s.u64(l.seq)
		s.bytes(l.parcel.data)
		s.num(l.parcel.unsent)
	}
	s.flags(rl.listening)
	s.u64(rl.own.bytes)
	s.words(rl.own.before)
}

func (s *state) origin(o *origin) {
	s.num(o.from)
	s.num(len(o.branches))
	for i := range o.branches {
		b := &o.branches[i]
		s.num(b.rank)
		s.num(int(b.state))
		s.u64(b.credit)
		s.u64(b.here)
		s.u64(b.passed)
	}
	q := &o.question
	s.num(len(q.by))
	for _, by := range q.by {
		s.num(by)
	}
	s.num(q.via)
	s.u64(q.wanted)
	s.u64(q.asked)
	s.u64(q.answered)
	s.u64(o.next)
	s.u64(o.consumed)
	s.u64(o.step)
	s.num(o.bytes)
	s.num(o.waiting)
	s.u64(o.passed)
}
