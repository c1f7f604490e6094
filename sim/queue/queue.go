// Package queue orders what is to happen in a simulation: by time, then by a
// number that breaks ties, then by the order in which it was pushed. It is made
// for simulations, where hardly anything is pushed before what was popped last.
package queue

import (
	"math/bits"
	"slices"
)

// Item is something that happens.
type Item[T any] struct {
	At    int64  // the time, not negative
	Tie   uint64 // of what happens at the same time the lowest comes first
	Value T
}

// Queue is a queue in the order of At, Tie and pushing; the zero value is empty.
//
// It is a radix heap (Ahuja, Mehlhorn, Orlin and Tarjan 1990) by time: what comes
// later than the time that was reached is in the bucket of the highest bit in which
// the two differ, so that an item moves at most once for each bit, and to lower
// buckets only. What is to happen at the time that was reached is sorted by Tie; it
// mostly is from the beginning, because it is pushed in that order.
type Queue[T any] struct {
	last    int64 // time of what was taken from the buckets last
	used    uint64
	buckets [64][]Item[T] // by the highest bit, from 1, in which a time differs from last
	ready   []Item[T]     // what is not later than last, in order
	next    int           // first of ready that is left
	early   heap[T]       // what is not later than last either, and was pushed since, out of order
	pushed  uint64
	left    int
}

// Len returns how many items there are.
func (q *Queue[T]) Len() int { return q.left }

// Push adds an item. It may be earlier than what was popped last; it is the next
// one then.
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
		q.ready = append(q.ready, x)
	default:
		q.pushed++
		q.early.push(waiting[T]{x, q.pushed})
	}
}

// Pop removes the first item; there must be one.
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

// Clear removes all items and begins at time 0 again. It keeps the memory.
func (q *Queue[T]) Clear() {
	for i := range q.buckets {
		clear(q.buckets[i])
		q.buckets[i] = q.buckets[i][:0]
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
	q.buckets[b] = append(q.buckets[b], x)
}

// advance goes to the time of the first item in the buckets. Items that are equal
// stay in the order in which they were pushed: they are always in one bucket.
func (q *Queue[T]) advance() {
	b := bits.TrailingZeros64(q.used)
	from := q.buckets[b]
	q.used &^= 1 << b
	q.last = from[0].At
	for i := range from {
		q.last = min(q.last, from[i].At)
	}
	q.ready, q.next = q.ready[:0], 0
	sorted := true
	for i := range from {
		x := &from[i]
		if x.At != q.last {
			q.put(*x)
			continue
		}
		if n := len(q.ready); n > 0 && x.Tie < q.ready[n-1].Tie {
			sorted = false
		}
		q.ready = append(q.ready, *x)
	}
	clear(from)
	q.buckets[b] = from[:0]
	if !sorted {
		slices.SortStableFunc(q.ready, func(a, b Item[T]) int {
			switch {
			case a.Tie < b.Tie:
				return -1
			case a.Tie > b.Tie:
				return 1
			}
			return 0
		})
	}
}
