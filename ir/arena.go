package ir

// arena cuts slices from larger blocks, so a schedule of a million rules does not need a million
// allocations. The length of the blocks doubles from firstBlock to lastBlock. A slice that is
// longer than the next block gets a block of its own length.
type arena[T any] struct {
	free []T
	next int // length of the last block, unless one slice needed a longer one; 0 before the first
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
