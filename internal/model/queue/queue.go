// Package queue orders the events of a simulation: by time, then by a number that breaks ties, then
// by the order of pushing. It is optimised for simulations, where an event is rarely pushed before
// the last one popped.
package queue

import (
	"cmp"
	"math/bits"
	"slices"
)

// Item is an event.
type Item[T any] struct {
	At    int64  // the time, not negative
	Tie   uint64 // at equal times the lowest comes first
	Value T
}

// Queue is a queue in the order of At, Tie and pushing. The zero value is empty. It reuses its
// memory, and may keep popped items until then.
//
// It is a radix heap (Ahuja, Mehlhorn, Orlin and Tarjan 1990) by time. An item that is later than
// the current time is in the bucket of the highest bit in which the two times differ. So an item
// moves at most once for each bit, and only to lower buckets. The items of the current time are
// sorted by Tie. They usually are sorted already, because they are pushed in that order.
type Queue[T any] struct {
	last    int64 // time of the items that were last taken from the buckets
	used    uint64
	buckets [64][]Item[T] // by the highest bit, from 1, in which a time differs from last
	ready   []Item[T]     // items not later than last, in order
	next    int           // index of the first remaining item of ready
	early   heap[T]       // further items not later than last, pushed since and out of order
	spare   [][]Item[T]   // unused memory of buckets
	pushed  uint64
	left    int
}

// Len returns the number of items.
func (q *Queue[T]) Len() int { return q.left }

// Push adds an item. It may be earlier than the last item popped, and is then the next one.
func (q *Queue[T]) Push(x Item[T]) {
	q.left++
	if x.At > q.last {
		q.put(x)
		return
	}
	switch n := len(q.ready); {
	case q.next == n && len(q.early) == 0:
		q.ready, q.next = append(q.ready[:0], x), 0
	case q.next < n && !before(&x, &q.ready[n-1]):
		q.ready = q.add(q.ready, x)
	default:
		q.pushed++
		q.early.push(waiting[T]{x, q.pushed})
	}
}

// Pop removes and returns the first item. The queue must not be empty.
func (q *Queue[T]) Pop() Item[T] {
	q.left--
	if q.next == len(q.ready) && len(q.early) == 0 {
		q.advance()
	}
	if len(q.early) > 0 && (q.next == len(q.ready) || before(&q.early[0].Item, &q.ready[q.next])) {
		return q.early.pop().Item
	}
	q.next++
	return q.ready[q.next-1]
}

// Clear removes all items and starts at time 0 again. It keeps the memory.
func (q *Queue[T]) Clear() {
	for i := range q.buckets {
		clear(q.buckets[i])
		q.give(q.buckets[i])
		q.buckets[i] = nil
	}
	clear(q.ready)
	clear(q.early)
	q.last, q.used, q.ready, q.next, q.early, q.pushed, q.left = 0, 0, q.ready[:0], 0, q.early[:0], 0, 0
}

func before[T any](a, b *Item[T]) bool { return a.At < b.At || a.At == b.At && a.Tie < b.Tie }

// put puts an item that is later than last into its bucket.
func (q *Queue[T]) put(x Item[T]) {
	b := bits.Len64(uint64(x.At^q.last)) & 63
	q.used |= 1 << b
	q.buckets[b] = q.add(q.buckets[b], x)
}

// add appends x.
func (q *Queue[T]) add(s []Item[T], x Item[T]) []Item[T] {
	if len(s) == cap(s) {
		s = q.more(s)
	}
	return append(s, x)
}

// more returns s with room for another item. It uses the smallest larger spare memory, or new
// memory twice as large, because frequent growth costs more than reuse.
func (q *Queue[T]) more(s []Item[T]) []Item[T] {
	best := -1
	for i := range q.spare {
		if c := cap(q.spare[i]); c > len(s) && (best < 0 || c < cap(q.spare[best])) {
			best = i
		}
	}
	if best < 0 {
		return slices.Grow(s, max(len(s), 16))
	}
	larger := append(q.spare[best], s...)
	q.spare = slices.Delete(q.spare, best, best+1)
	q.give(s)
	return larger
}

// give keeps memory for the next bucket that grows.
func (q *Queue[T]) give(s []Item[T]) {
	if cap(s) > 0 {
		q.spare = append(q.spare, s[:0])
	}
}

// advance moves to the time of the first item in the buckets. Equal items stay in the order in
// which they were pushed, because they are always in one bucket.
func (q *Queue[T]) advance() {
	b := bits.TrailingZeros64(q.used)
	from := q.buckets[b]
	q.used &^= 1 << b
	first, same, sorted := from[0].At, true, true
	least := first
	for i := 1; i < len(from); i++ {
		same = same && from[i].At == first
		sorted = sorted && from[i].Tie >= from[i-1].Tie
		least = min(least, from[i].At)
	}
	q.last, q.next = least, 0
	q.buckets[b] = nil
	if same {
		q.give(q.ready)
		q.ready = from
	} else {
		sorted = q.spread(from)
		q.give(from)
	}
	if !sorted {
		slices.SortStableFunc(q.ready, func(a, b Item[T]) int { return cmp.Compare(a.Tie, b.Tie) })
	}
}

// spread makes the items of the current time ready, and puts the others into lower buckets. It
// reports whether the ready items are sorted.
func (q *Queue[T]) spread(from []Item[T]) (sorted bool) {
	q.ready, sorted = q.ready[:0], true
	for i := range from {
		x := &from[i]
		if x.At != q.last {
			q.put(*x)
			continue
		}
		if n := len(q.ready); n > 0 && x.Tie < q.ready[n-1].Tie {
			sorted = false
		}
		q.ready = q.add(q.ready, *x)
	}
	return sorted
}
