package fragment

import (
	"math"
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// MaxChunk is the longest chunk, in bytes, that goes as datagrams; longer ones go by
// put alone.
const MaxChunk = math.MaxInt32

// Chunk is a frame that waits to be sent as datagrams.
type Chunk struct {
	Head   wire.Header
	To     int // rank; of what is multicast a negative number
	Body   []byte
	Offset int // of Body in what the header is of
	Sent   int // bytes of Body that are with the system
	unsent *int
}

// Next returns what of the body goes into one datagram of so many bytes if sent are gone.
func (c *Chunk) Next(sent, payload int) []byte {
	return c.Body[sent:min(sent+payload, len(c.Body))]
}

// Queue is chunks in the order in which they were queued.
type Queue struct {
	list []Chunk
	head int
}

// Empty reports whether nothing waits.
func (q *Queue) Empty() bool { return q.head == len(q.list) }

// Waiting returns all that wait, valid until the next change.
func (q *Queue) Waiting() []Chunk { return q.list[q.head:] }

// Has reports whether anything waits that goes to to.
func (q *Queue) Has(to int) bool {
	return slices.ContainsFunc(q.Waiting(), func(c Chunk) bool { return c.To == to })
}

// Push queues f for rank to, or, if that is negative, for the group.
func (q *Queue) Push(to int, f *wire.Frame) {
	c := Chunk{Head: f.Header, To: to, Body: f.Body, Offset: f.Offset, unsent: f.Unsent}
	c.Head.Len = f.Whole()
	q.compact()
	q.list = append(q.list, c)
}

// compact uses the room of chunks that have gone, before there would be none: a queue may never be empty as long as a
// file is sent. At least half of it has gone, so a chunk is moved once at most for each that is queued.
func (q *Queue) compact() {
	if len(q.list) < cap(q.list) || 2*q.head < len(q.list) {
		return
	}
	n := copy(q.list, q.list[q.head:])
	clear(q.list[n:])
	q.list, q.head = q.list[:n], 0
}

// Sent counts a datagram of the first chunk that is with the system, with a payload of at
// most so many bytes.
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

// Pop gives the first chunk's body back.
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

// Clear takes all out.
func (q *Queue) Clear() {
	for !q.Empty() {
		q.Pop()
	}
}

// Abandon takes out what is of a communicator.
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
