package publish

import "slices"

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
// If messages are multicast, a rank that leaves tells all other ranks, if there were any messages.
// Otherwise it tells only the ranks that exchange messages with it. So a rank that takes the place of
// others may meet one that has left without telling it. Such a rank takes no connection: see MayLeave.

// Left says that another rank has left.
func (m *Messages) Left(rank int) {
	m.sources.left(m, rank)
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
func (m *Messages) replace(st *stream) {
	before := st.below
	st.below = nil
	for _, rank := range m.children(nil, st.origin, m.Rank) {
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
		if b := &st.below[i]; !b.waits && m.isNearest(st.origin, b.rank) {
			m.adopt(st, b, before)
		}
	}
	m.advanced(st)
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

// adopt takes the place of the rank above b, which has left. The acknowledgements of the rank that
// has left hold for b, too.
func (m *Messages) adopt(st *stream, b *below, before []below) {
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

// Farewells passes on what other ranks still need, because this rank is about to leave.
func (m *Messages) Farewells() {
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

// Parting appends to dst the ranks that must hear when this rank leaves.
func (m *Messages) Parting(dst []int) []int {
	dst = m.Overlay.Channels(dst, m.Rank)
	switch {
	case !m.Multicasts():
		dst = append(append(dst, m.Sources()...), m.listeners...)
		for _, st := range m.streams {
			if st == nil {
				continue
			}
			if st.up >= 0 {
				dst = append(dst, st.up)
			}
			for i := range st.below {
				dst = append(dst, st.below[i].rank)
			}
		}
	case m.used:
		dst = append(dst, m.Sources()...)
	}
	return dst
}

// MayLeave reports whether a rank that shares no channel with this rank may leave without telling
// it, although they exchange messages: one of them has, or had, the place of ranks that have left.
func (m *Messages) MayLeave(rank int) bool {
	for _, st := range m.streams {
		if st != nil && (m.isBelow(st.origin, rank, m.Rank) || m.isBelow(st.origin, m.Rank, rank)) {
			return true
		}
	}
	return !m.Multicasts() && slices.Contains(m.Sources(), rank)
}
