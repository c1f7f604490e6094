package core

import "slices"

// copyFrom makes s, a zero value with its links, an independent copy of src.
func (s *spread) copyFrom(src *spread) {
	s.longest, s.share = src.longest, src.share
	s.timed, s.listening, s.used = src.timed, src.listening, src.used
	s.published, s.delivered, s.answers = src.published, src.delivered, src.answers
	s.streams = make([]*stream, len(src.streams))
	for i, st := range src.streams {
		if st != nil {
			s.streams[i] = st.clone()
		}
	}
	s.incoming = make([]*parcel, len(src.incoming))
	for i, p := range src.incoming {
		if p != nil {
			s.incoming[i] = p.clone()
		}
	}
	s.inbox.letters = slices.Clone(src.inbox.letters[src.inbox.head:])
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

// normalize forgets moments: see Normalize.
func (s *spread) normalize() {
	for _, st := range s.streams {
		if st != nil {
			for t := range st.timers {
				t.normalize()
			}
		}
	}
}

// timers yields the timers of the stream.
func (st *stream) timers(yield func(*timer) bool) {
	for i := range st.below {
		if !yield(&st.below[i].late) {
			return
		}
	}
	_ = yield(&st.ack) && yield(&st.lack)
}

func (t *timer) normalize() {
	if t.on {
		t.due = later
	}
}

// alarms appends the alarms of rootless messages.
func (s *spread) alarms(dst []Alarm) []Alarm {
	for origin, st := range s.streams {
		if st == nil {
			continue
		}
		if st.ack.on {
			dst = append(dst, Alarm{AlarmAck, 0, origin})
		}
		if st.lack.on {
			dst = append(dst, Alarm{AlarmLack, 0, origin})
		}
		for i := range st.below {
			if b := &st.below[i]; b.late.on {
				dst = append(dst, Alarm{AlarmLate, 0, origin*s.Size + b.rank})
			}
		}
	}
	return dst
}

// ring makes a timer due.
func (s *spread) ring(a Alarm) {
	switch a.Kind {
	case AlarmAck:
		s.streams[a.Index].ack.due = noon
	case AlarmLack:
		s.streams[a.Index].lack.due = noon
	case AlarmLate:
		st := s.streams[a.Index/s.Size]
		for i := range st.below {
			if b := &st.below[i]; b.rank == a.Index%s.Size {
				b.late.due = noon
			}
		}
	}
}

func (s *state) spread(sp *spread) {
	for _, st := range sp.streams {
		if s.Flags(st != nil); st != nil {
			s.stream(st)
		}
	}
	s.Num(sp.inbox.len())
	for _, l := range sp.inbox.letters[sp.inbox.head:] {
		s.Num(l.origin)
		s.U64(l.seq)
	}
	s.Flags(sp.listening, sp.used)
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
