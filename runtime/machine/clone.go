package machine

// CopyFrom makes m an operation in execution like src, which goes on
// independently of it. What they have in common, the plan, is never written.
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

// AppendState appends what tells m from other operations under its plan: which
// slots are set, eight a byte. All else that a machine counts follows from that.
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
