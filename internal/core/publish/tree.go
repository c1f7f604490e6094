package publish

// above returns the nearest rank above this rank in the tree of an origin that has not left, or -1.
func (m *Messages) above(origin int) int {
	for at := m.Rank; at != origin; {
		if at = m.Overlay.Sender(at, origin); !m.members.Gone(at) {
			return at
		}
	}
	return -1
}

// isBelow reports whether lower is below upper in the tree of an origin.
func (m *Messages) isBelow(origin, lower, upper int) bool {
	for at := lower; at != origin; {
		if at = m.Overlay.Sender(at, origin); at == upper {
			return true
		}
	}
	return false
}

// isNearest reports whether all ranks between this rank and a rank below have left.
func (m *Messages) isNearest(origin, rank int) bool {
	for at := rank; at != origin; {
		switch at = m.Overlay.Sender(at, origin); {
		case at == m.Rank:
			return true
		case !m.members.Gone(at):
			return false
		}
	}
	return false
}

// children appends to dst the ranks just below rank in the tree of an origin. The children of a rank
// that has left are in its place.
func (m *Messages) children(dst []int, origin, rank int) []int {
	from := origin
	if rank != origin {
		from = m.Overlay.Sender(rank, origin)
	}
	for _, to := range m.Overlay.Forward(nil, rank, origin, from) {
		if m.members.Gone(to) {
			dst = m.children(dst, origin, to)
		} else {
			dst = append(dst, to)
		}
	}
	return dst
}
