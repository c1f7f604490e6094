package fragment

import (
	"math"
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// MaxChunk is the greatest length in bytes of a chunk that is sent as datagrams; longer chunks go
// only by put.
const MaxChunk = math.MaxInt32

// Chunk is a frame that waits to be sent as datagrams.
type Chunk struct {
	Head   wire.Header
	To     int // a rank; negative for multicasts
	Body   []byte
	Offset int // start of Body in the whole body
	Sent   int // bytes of Body that the system has taken
	unsent *int
}

// Next returns the part of the body for a datagram of at most payload bytes, if sent bytes are
// gone.
func (c *Chunk) Next(sent, payload int) []byte {
	return c.Body[sent:min(sent+payload, len(c.Body))]
}

// Queue holds chunks in the order in which they were queued.
type Queue struct {
	list []Chunk
	head int
}

// Empty reports whether no chunk waits.
func (q *Queue) Empty() bool { return q.head == len(q.list) }

// Waiting returns all waiting chunks. The result is valid until the next change.
func (q *Queue) Waiting() []Chunk { return q.list[q.head:] }

// Has reports whether a chunk for to waits.
func (q *Queue) Has(to int) bool {
	return slices.ContainsFunc(q.Waiting(), func(c Chunk) bool { return c.To == to })
}

// Push queues f for rank to, or for a group if to is negative.
func (q *Queue) Push(to int, f *wire.Frame) {
	c := Chunk{Head: f.Header, To: to, Body: f.Body, Offset: f.Offset, unsent: f.Unsent}
	c.Head.Len = f.Whole()
	q.compact()
	q.list = append(q.list, c)
}

// compact reuses the room of chunks that have gone before the queue must grow: while a file is
// sent, a queue may never be empty. At least half of the queue has gone, so a chunk moves at most
// once for each queued chunk.
func (q *Queue) compact() {
	if len(q.list) < cap(q.list) || 2*q.head < len(q.list) {
		return
	}
	n := copy(q.list, q.list[q.head:])
	clear(q.list[n:])
	q.list, q.head = q.list[:n], 0
}

// Sent counts a datagram of the first chunk, with a payload of at most payload bytes, that the
// system has taken.
func (q *Queue) Sent(payload int, stats *wire.Stats) {
	c := &q.list[q.head]
	bytes := len(c.Next(c.Sent, payload))
	c.Sent += bytes
	if c.To < 0 {
		stats.McastFrames++
		stats.McastBytes += uint64(bytes)
	} else {
		stats.DatagramFrames++
	}
	if c.Sent == len(c.Body) {
		q.Pop()
	}
}

// Pop removes the first chunk and returns its body to its owner.
func (q *Queue) Pop() {
	c := &q.list[q.head]
	if c.unsent != nil {
		*c.unsent--
	}
	*c = Chunk{}
	q.head++
	q.rewind()
}

func (q *Queue) rewind() {
	if q.Empty() {
		q.list, q.head = q.list[:0], 0
	}
}

// Clear removes all chunks.
func (q *Queue) Clear() {
	for !q.Empty() {
		q.Pop()
	}
}

// Abandon removes the chunks of a communicator.
func (q *Queue) Abandon(comm uint8) {
	n := q.head
	for _, c := range q.list[q.head:] {
		if c.Head.Comm != comm {
			q.list[n] = c
			n++
		} else if c.unsent != nil {
			*c.unsent--
		}
	}
	clear(q.list[n:])
	q.list = q.list[:n]
	q.rewind()
}
