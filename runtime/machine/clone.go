package machine

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
