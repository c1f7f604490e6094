package build

import "github.com/schedgen/schedgen/ir"

// list is a long list that grows without copying its elements.
type list[T any] struct {
	blocks [][]T
	n      int
}

const blockBits = 13

func (l *list[T]) at(i int32) *T { return &l.blocks[i>>blockBits][i&(1<<blockBits-1)] }

func (l *list[T]) append(e T) {
	if l.n>>blockBits == len(l.blocks) {
		l.blocks = append(l.blocks, make([]T, 0, 1<<blockBits))
	}
	last := &l.blocks[len(l.blocks)-1]
	*last = append(*last, e)
	l.n++
}

// slab hands out parts of large pieces of memory.
type slab[T any] struct{ free []T }

// clone returns a copy of s whose capacity is its length.
func (l *slab[T]) clone(s []T) []T {
	if len(s) > len(l.free) {
		l.free = make([]T, max(len(s), 1<<blockBits))
	}
	n := copy(l.free, s)
	part := l.free[:n:n]
	l.free = l.free[n:]
	return part
}

// marks is a set of slots of one rank. Clearing it takes no time.
type marks struct {
	by  [8][]int32 // by kind and index: the time of the mark
	now int32
}

func (m *marks) clear() { m.now++ }

// add adds s. It reports whether s was not there before.
func (m *marks) add(s ir.Slot) bool {
	at := &m.by[s.Kind()]
	for len(*at) <= s.Index() {
		*at = append(*at, 0)
	}
	was := (*at)[s.Index()]
	(*at)[s.Index()] = m.now
	return was != m.now
}
