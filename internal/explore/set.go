package explore

import "hash/maphash"

// set is a set of states. It stores 128 bits of two hashes for each. Among n states, the
// probability that two are mistaken for one is below n²/2¹²⁸: for a hundred million states, one in
// 10²².
type set struct {
	slots [][2]uint64 // their number is a power of two; zero is an empty slot
	n     int
	seeds [2]maphash.Seed
}

const firstSlots = 1 << 12

func newSet() *set {
	return &set{slots: make([][2]uint64, firstSlots), seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

// hash returns the key of b, which is not zero.
func (s *set) hash(b []byte) [2]uint64 {
	return [2]uint64{maphash.Bytes(s.seeds[0], b) | 1, maphash.Bytes(s.seeds[1], b)}
}

// find returns the slot of k, or the slot where k would be added.
func (s *set) find(k [2]uint64) (at int, found bool) {
	mask := len(s.slots) - 1
	for at = int(k[1]) & mask; s.slots[at] != [2]uint64{}; at = (at + 1) & mask {
		if s.slots[at] == k {
			return at, true
		}
	}
	return at, false
}

func (s *set) has(k [2]uint64) bool {
	_, found := s.find(k)
	return found
}

// add adds k, and reports whether it is new.
func (s *set) add(k [2]uint64) bool {
	at, found := s.find(k)
	if found {
		return false
	}
	s.slots[at] = k
	if s.n++; s.n > len(s.slots)*3/4 {
		old := s.slots
		s.slots = make([][2]uint64, 2*len(old))
		for _, k := range old {
			if k != ([2]uint64{}) {
				at, _ := s.find(k)
				s.slots[at] = k
			}
		}
	}
	return true
}
