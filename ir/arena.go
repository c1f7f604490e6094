package ir

// arena cuts slices from larger blocks, so a schedule of a million rules does not need a million
// allocations. Each block is at most as large as all earlier blocks together, so the arena
// allocates at most twice what its callers ask for.
type arena[T any] struct {
	free []T
	next int // length of the next block
}

const (
	firstBlock = 64
	lastBlock  = 1 << 14
)

// copyOf returns a copy of s with no spare capacity; nil if s is empty.
func (a *arena[T]) copyOf(s []T) []T {
	if len(s) == 0 {
		return nil
	}
	if len(s) > len(a.free) {
		a.next = min(max(2*a.next, firstBlock), lastBlock)
		a.free = make([]T, max(a.next, len(s)))
	}
	c := a.free[:len(s):len(s)]
	a.free = a.free[len(s):]
	copy(c, s)
	return c
}
