package stream

import "github.com/schedgen/schedgen/runtime/wire"

// entry is one queued frame: a cache line on 64-bit machines.
type entry struct {
	head   record
	body   []byte
	unsent *int
}

// len returns the length of the entry on the wire: a record precedes each piece of the body.
func (e *entry) len() int {
	pieces := max(1, (len(e.body)+pieceSize-1)/pieceSize)
	return pieces*recordLen + len(e.body)
}

var moreRecord = mark(kindMore)

// part returns the next bytes to write if skip bytes of the entry are written: the rest of a
// record, and of the piece after it.
func (e *entry) part(skip int) (head, piece []byte) {
	k, at := skip/(recordLen+pieceSize), skip%(recordLen+pieceSize)
	piece = e.body[k*pieceSize : min((k+1)*pieceSize, len(e.body))]
	switch {
	case at >= recordLen:
		return nil, piece[at-recordLen:]
	case k == 0:
		return e.head[at:], piece
	}
	return moreRecord[at:], piece
}

// gather adds the bytes to write if skip bytes of the entry are written, at most about room bytes
// in all.
func (e *entry) gather(v *vector, skip, room int) {
	for n := e.len(); skip < n && !v.full() && v.bytes < room; {
		head, piece := e.part(skip)
		v.add(head)
		v.add(piece[:min(len(piece), max(room-v.bytes, 0))])
		skip += len(head) + len(piece)
	}
}

// done returns the body to its owner.
func (e *entry) done() {
	if e.unsent != nil {
		*e.unsent--
	}
	e.body, e.unsent = nil, nil
}

// ring is a queue of entries that reuses its memory. It grows with the number of frames queued at
// once and never shrinks.
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
	q.drop()
}

func (q *ring) drop() {
	q.head = (q.head + 1) & (len(q.buf) - 1)
	q.n--
}

func (q *ring) clear() {
	for q.n > 0 {
		q.pop()
	}
}

// keepRecords removes all frames.
func (q *ring) keepRecords() {
	for range q.n {
		e := *q.at(0)
		if isFrame(&e.head) {
			q.pop()
			continue
		}
		q.drop()
		*q.push() = e
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
