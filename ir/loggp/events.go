package loggp

import "github.com/schedgen/schedgen/ir"

// key is when something happens: at a time, and of what happens then in the order
// in which it came about. Every send and every message has a number of its own; a
// multicast is one message.
type key struct {
	at  Time
	seq int64
}

// never is the key behind all others.
var never = key{at: 1<<63 - 1}

func (a key) before(b key) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

// event is the arrival of a put at a rank, the arrival of the multicast of a rank
// everywhere, or, without an operation, the moment in which a rank can begin its
// next send or receive.
type event struct {
	key
	rank int32
	slot ir.Slot
	op   ir.Op
}

// before orders events. Ranks begin to receive one multicast in their order.
func (a *event) before(b *event) bool {
	return a.key.before(b.key) || a.key == b.key && a.rank < b.rank
}

// events is a binary heap: no event is before its parent, (i-1)/2.
type events []event

func (h *events) push(x event) {
	a := append(*h, x)
	i := len(a) - 1
	for i > 0 && x.before(&a[(i-1)/2]) {
		a[i] = a[(i-1)/2]
		i = (i - 1) / 2
	}
	a[i] = x
	*h = a
}

// pop removes the first event; there must be one.
func (h *events) pop() event {
	a := *h
	first, last := a[0], a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	i := 0
	for {
		child := 2*i + 1
		if child >= len(a) {
			break
		}
		if child+1 < len(a) && a[child+1].before(&a[child]) {
			child++
		}
		if !a[child].before(&last) {
			break
		}
		a[i] = a[child]
		i = child
	}
	if len(a) > 0 {
		a[i] = last
	}
	return first
}

// entry is one element of a queue: a rule that has fired or a put that has arrived.
type entry struct {
	seq  int64
	what uint32 // number of the rule, slot of the put
	next int32
}

// queue is a first-in first-out list of entries of a pool, numbered from 1 so that
// the zero value is empty.
type queue struct{ first, last int32 }

// pool is the entries of all queues; those that are free form a list.
type pool struct {
	entries []entry
	free    int32
}

func (p *pool) at(i int32) *entry { return &p.entries[i-1] }

func (p *pool) put(q *queue, seq int64, what uint32) {
	i := p.free
	if i > 0 {
		p.free = p.at(i).next
	} else {
		p.entries = append(p.entries, entry{})
		i = int32(len(p.entries))
	}
	*p.at(i) = entry{seq: seq, what: what}
	if q.first == 0 {
		q.first = i
	} else {
		p.at(q.last).next = i
	}
	q.last = i
}

// dropFirst removes the first entry of q; there must be one.
func (p *pool) dropFirst(q *queue) {
	i := q.first
	q.first = p.at(i).next
	p.at(i).next, p.free = p.free, i
}
