package queue

// Ring is a first-in first-out queue that reuses its memory. The zero value is empty.
type Ring[T any] struct {
	items []T
	head  int
	n     int
}

// Len returns the number of items.
func (r *Ring[T]) Len() int { return r.n }

// Push adds an item at the end.
func (r *Ring[T]) Push(v T) {
	if r.n == len(r.items) {
		bigger := make([]T, max(8, 2*r.n))
		for i := range r.n {
			bigger[i] = *r.At(i)
		}
		r.items, r.head = bigger, 0
	}
	r.n++
	*r.At(r.n - 1) = v
}

// At returns item i from the head, 0 ≤ i < Len.
func (r *Ring[T]) At(i int) *T {
	i += r.head
	if i >= len(r.items) {
		i -= len(r.items)
	}
	return &r.items[i]
}

// Pop removes and returns the first item. The ring must not be empty.
func (r *Ring[T]) Pop() T {
	first := r.At(0)
	v := *first
	var zero T
	*first = zero
	r.head++
	if r.head == len(r.items) {
		r.head = 0
	}
	r.n--
	return v
}
