package sim

// ring is a queue whose memory is used again.
type ring[T any] struct {
	items []T
	head  int
	n     int
}

func (r *ring[T]) push(v T) {
	if r.n == len(r.items) {
		bigger := make([]T, max(8, 2*r.n))
		for i := range r.n {
			bigger[i] = *r.at(i)
		}
		r.items, r.head = bigger, 0
	}
	r.n++
	*r.at(r.n - 1) = v
}

// at returns item i from the head.
func (r *ring[T]) at(i int) *T {
	i += r.head
	if i >= len(r.items) {
		i -= len(r.items)
	}
	return &r.items[i]
}

func (r *ring[T]) pop() T {
	first := r.at(0)
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
