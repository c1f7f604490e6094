package ir

import "hash/fnv"

// Digest returns the 64-bit FNV-1a hash of the canonical text of s. Equal schedules have equal
// digests, and different schedules very rarely do. Digest fails if [WriteText] does.
func Digest(s *Schedule) (uint64, error) {
	h := fnv.New64a()
	if err := WriteText(h, s); err != nil {
		return 0, err
	}
	return h.Sum64(), nil
}
