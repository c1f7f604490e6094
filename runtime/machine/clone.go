package machine

// CopyFrom makes m a copy of the operation src. Both then run independently; they share the plan,
// which is never written.
func (m *Machine) CopyFrom(src *Machine) {
	m.plan = src.plan
	m.set = append(m.set[:0], src.set...)
	m.left = append(m.left[:0], src.left...)
	if cap(m.fired) < len(m.left) {
		m.fired = make([]int32, 0, len(m.left))
	}
	m.joined = m.joined[:0]
	m.doneLeft, m.mustLeft = src.doneLeft, src.mustLeft
}

// AppendState appends the state that distinguishes m from other operations under its plan: one bit
// per slot that says whether it is set, eight to a byte. All counters of a machine follow from it.
func (m *Machine) AppendState(dst []byte) []byte {
	for i := 0; i < len(m.set); i += 8 {
		var b byte
		for k, set := range m.set[i:min(i+8, len(m.set))] {
			if set {
				b |= 1 << k
			}
		}
		dst = append(dst, b)
	}
	return dst
}
