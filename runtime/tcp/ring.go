package tcp

import "github.com/schedgen/schedgen/runtime/wire"

// entry is one frame that waits to be written: a cache line on 64-bit machines.
type entry struct {
	head   record
	body   []byte
	unsent *int
}

// len returns the bytes that the entry takes on the wire.
func (e *entry) len() int { return recordLen + len(e.body) }

// done gives the body back to whoever queued it.
func (e *entry) done() {
	if e.unsent != nil {
		*e.unsent--
	}
	e.body, e.unsent = nil, nil
}

// ring is a queue of entries that reuses its memory. It grows with the frames
// that its user has queued at once and never shrinks.
type ring struct {
	buf  []entry // length is a power of two
	head int
	n    int
}

func (q *ring) at(i int) *entry { return &q.buf[(q.head+i)&(len(q.buf)-1)] }

// push returns a new last entry to be filled.
func (q *ring) push() *entry {
	if q.n == len(q.buf) {
		q.grow()
	}
	q.n++
	return q.at(q.n - 1)
}

func (q *ring) grow() {
	buf := make([]entry, max(16, 2*len(q.buf)))
	for i := range q.n {
		buf[i] = *q.at(i)
	}
	q.buf, q.head = buf, 0
}

func (q *ring) pop() {
	q.at(0).done()
	q.head = (q.head + 1) & (len(q.buf) - 1)
	q.n--
}

func (q *ring) clear() {
	for q.n > 0 {
		q.pop()
	}
}

func (q *ring) pushRecord(r record) { q.push().head = r }

func (q *ring) pushFrame(f *wire.Frame) {
	e := q.push()
	h := f.Header
	h.Len = len(f.Body)
	encodeHeader(&e.head, &h)
	e.body, e.unsent = f.Body, f.Unsent
}
