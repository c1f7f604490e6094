package rdma

import "github.com/schedgen/schedgen/runtime/wire"

// frames is a queue of frames that reuses its memory. It grows to the greatest number of frames
// queued at once and never shrinks.
type frames struct {
	list []wire.Frame // length is a power of two
	head int
	n    int
}

func (q *frames) first() *wire.Frame { return &q.list[q.head] }

func (q *frames) push(f *wire.Frame) {
	if q.n == len(q.list) {
		bigger := make([]wire.Frame, max(8, 2*q.n))
		k := copy(bigger, q.list[q.head:])
		copy(bigger[k:], q.list[:q.head])
		q.list, q.head = bigger, 0
	}
	q.list[(q.head+q.n)&(len(q.list)-1)] = *f
	q.n++
}

// pop removes the first frame and releases its body.
func (q *frames) pop() {
	q.first().Release()
	*q.first() = wire.Frame{}
	q.head = (q.head + 1) & (len(q.list) - 1)
	q.n--
}

func (q *frames) clear() {
	for q.n > 0 {
		q.pop()
	}
}
