package queue

// waiting is an item with its number, which makes the order total.
type waiting[T any] struct {
	Item[T]
	seq uint64
}

func (a *waiting[T]) before(b *waiting[T]) bool {
	return before(&a.Item, &b.Item) || a.At == b.At && a.Tie == b.Tie && a.seq < b.seq
}

// heap is a binary heap: no item is before its parent, (i-1)/2.
type heap[T any] []waiting[T]

func (h *heap[T]) push(x waiting[T]) {
	a := append(*h, x)
	i := len(a) - 1
	for i > 0 && x.before(&a[(i-1)/2]) {
		a[i] = a[(i-1)/2]
		i = (i - 1) / 2
	}
	a[i] = x
	*h = a
}

// pop removes the first item. The heap must not be empty.
func (h *heap[T]) pop() waiting[T] {
	a := *h
	n := len(a) - 1
	first, last := a[0], a[n]
	a[n] = waiting[T]{}
	a = a[:n]
	*h = a
	i := 0
	for child := 1; child < n; child = 2*i + 1 {
		if child+1 < n && a[child+1].before(&a[child]) {
			child++
		}
		if !a[child].before(&last) {
			break
		}
		a[i], i = a[child], child
	}
	if n > 0 {
		a[i] = last
	}
	return first
}
