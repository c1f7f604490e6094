// Package queue orders what is to happen in a simulation: by time, then by a
// number that breaks ties, then by the order in which it was pushed. It is made
// for simulations, where hardly anything is pushed before what was popped last.
package queue

import (
	"cmp"
	"math/bits"
	"slices"
)

// Item is something that happens.
type Item[T any] struct {
	At    int64  // the time, not negative
	Tie   uint64 // of what happens at the same time the lowest comes first
	Value T
}

// Queue is a queue in the order of At, Tie and pushing; the zero value is empty. Its
// memory is used again, and may keep what was popped until then.
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
	spare   [][]Item[T]   // memory that no bucket has
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
		q.ready = q.add(q.ready, x)
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

// more returns s with room for another item: in the least memory that is spare and larger, or
// in new memory twice as large, since to grow often costs more than memory that is used again.
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

// give puts memory by for the next bucket that grows.
func (q *Queue[T]) give(s []Item[T]) {
	if cap(s) > 0 {
		q.spare = append(q.spare, s[:0])
	}
}

// advance goes to the time of the first item in the buckets. Items that are equal
// stay in the order in which they were pushed: they are always in one bucket.
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

// spread makes those items that are to happen at the time that was reached ready,
// and puts the others into lower buckets. It reports whether the former are sorted.
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
