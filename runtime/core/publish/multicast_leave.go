package publish

// A rank that leaves breaks no tree: the rank above it in each tree takes its place. That rank has
// kept every message that not all ranks below have acknowledged. It asks the ranks below, which
// acknowledge to it, and ask it for messages that they lack. It does not matter which rank first
// hears that the rank has left.
//
// An origin has no rank above it, and the rank above another rank may leave at the same time. So
// before a rank leaves, it puts messages that are not acknowledged to the ranks below. If a rank
// lacks a message and no rank above it is left, the message cannot come any more, and the
// communicator fails.
//
// So a rank that leaves tells all other ranks, if there were any messages.

// Left implements [Messages].
func (m *multicast) Left(rank int) {
	for _, st := range m.streams {
		if st == nil || m.host.Failed() {
			continue
		}
		if m.isBelow(st.origin, rank, m.Rank) {
			m.replace(st)
		}
		if st.up == rank {
			m.turn(st, m.above(st.origin))
		}
	}
}

// replace puts ranks in the place of ranks below that have left.
func (m *multicast) replace(st *stream) {
	before := st.below
	st.below = nil
	for _, rank := range m.members.Children(nil, st.origin, m.Rank, m.Size) {
		b := below{rank: rank}
		for i := range before {
			if before[i].rank == rank {
				b = before[i]
			}
		}
		st.below = append(st.below, b)
	}
	for i := range before { // ranks that know of more departures than this rank
		if b := &before[i]; !b.waits && !m.members.Gone(b.rank) && !st.lists(b.rank) {
			st.below = append(st.below, *b)
		}
	}
	for i := range st.below {
		if b := &st.below[i]; !b.waits && m.nearest(st, b.rank) {
			m.adopt(st, b, before)
		}
	}
	m.moved(st)
}

// lists reports whether below has a rank.
func (st *stream) lists(rank int) bool {
	for i := range st.below {
		if st.below[i].rank == rank {
			return true
		}
	}
	return false
}

// nearest reports whether all ranks between this rank and a rank below have left.
func (m *multicast) nearest(st *stream, rank int) bool {
	own := m.distance(st.origin, m.Rank)
	for v := m.distance(st.origin, rank); ; {
		if v &= v - 1; v == own {
			return true
		}
		if !m.members.Gone((st.origin + v) % m.Size) {
			return false
		}
	}
}

// adopt takes the place of the rank above b, which has left. The acknowledgements of the rank that
// has left hold for b, too.
func (m *multicast) adopt(st *stream, b *below, before []below) {
	b.waits = true
	for i := range before {
		if g := &before[i]; g.waits && m.isBelow(st.origin, b.rank, g.rank) {
			b.here, b.taken = max(b.here, g.here), max(b.taken, g.taken)
		}
	}
	for seq := b.here; st.ring != nil && seq < st.freed+uint64(len(st.ring)); seq++ {
		if seq >= st.freed && st.has(seq) && st.at(seq).bytes > m.longest {
			m.host.Put(b.rank, m.message(st.origin, seq, st.at(seq).parcel))
		}
	}
	m.question(st, b, st.known)
}

// Farewells implements [Messages].
func (m *multicast) Farewells() {
	for _, st := range m.streams {
		if st == nil || st.ring == nil {
			continue
		}
		for i := range st.below {
			b := &st.below[i]
			for seq := max(st.freed, b.here); b.waits && seq < st.freed+uint64(len(st.ring)); seq++ {
				if st.has(seq) && st.at(seq).bytes <= m.longest {
					m.resend(st, b, st.at(seq))
				}
			}
		}
	}
}

// Parting implements [Messages].
func (m *multicast) Parting(dst []int) []int {
	if m.used {
		return append(dst, m.Sources()...)
	}
	return m.Overlay.Channels(dst, m.Rank)
}
