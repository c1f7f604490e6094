//go:build linux

package segment

import "github.com/schedgen/schedgen/runtime/wire"

// queue holds frames that are not written yet. It reuses its memory, grows with the number of
// frames queued at once, and never shrinks.
type queue struct {
	frames []wire.Frame // length is a power of two
	head   int
	n      int
}

func (q *queue) first() *wire.Frame { return &q.frames[q.head] }

func (q *queue) at(i int) *wire.Frame { return &q.frames[(q.head+i)&(len(q.frames)-1)] }

func (q *queue) push(f *wire.Frame) {
	if q.n == len(q.frames) {
		bigger := make([]wire.Frame, max(8, 2*q.n))
		for i := range q.n {
			bigger[i] = q.frames[(q.head+i)&(q.n-1)]
		}
		q.frames, q.head = bigger, 0
	}
	q.frames[(q.head+q.n)&(len(q.frames)-1)] = *f
	q.n++
}

// pop returns the first frame's body to its owner.
func (q *queue) pop() {
	q.first().Release()
	q.drop()
}

func (q *queue) drop() {
	*q.first() = wire.Frame{}
	q.head = (q.head + 1) & (len(q.frames) - 1)
	q.n--
}

func (q *queue) clear() {
	for q.n > 0 {
		q.pop()
	}
}

// abandon removes the frames of a communicator.
func (q *queue) abandon(comm uint8) {
	for range q.n {
		f := *q.first()
		if f.Comm == comm {
			q.pop()
			continue
		}
		q.drop()
		q.push(&f)
	}
}
