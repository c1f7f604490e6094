package mcast

import (
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime"
)

// chunk is one that waits to be multicast.
type chunk struct {
	head   runtime.Header
	body   []byte
	unsent *int
	sent   int // bytes that are with the system
}

// castQueue is chunks in the order of their Mcast.
type castQueue struct {
	list []chunk
	head int
}

func (q *castQueue) empty() bool { return q.head == len(q.list) }

func (q *castQueue) push(f *runtime.Frame) {
	q.list = append(q.list, chunk{head: f.Header, body: f.Body, unsent: f.Unsent})
}

// pop gives the first chunk's body back.
func (q *castQueue) pop() {
	c := &q.list[q.head]
	if c.unsent != nil {
		*c.unsent--
	}
	*c = chunk{}
	q.head++
	if q.empty() {
		q.list, q.head = q.list[:0], 0
	}
}

func (q *castQueue) clear() {
	for !q.empty() {
		q.pop()
	}
}

// Mcast queues the unreliable transfer of f to all other ranks. Chunks beyond
// 2 GiB are lost.
func (t *Transport) Mcast(f *runtime.Frame) {
	t.queue.push(f)
	if t.closed || t.size == 1 || len(f.Body) > maxChunk {
		t.drop(f)
		return
	}
	if !t.busy.Load() {
		t.busy.Store(true)
	}
}

// drop takes back what has just been pushed.
func (t *Transport) drop(f *runtime.Frame) {
	last := len(t.queue.list) - 1
	t.queue.list[last] = chunk{}
	t.queue.list = t.queue.list[:last]
	if f.Unsent != nil {
		*f.Unsent--
	}
}

// cast sends a burst of what is queued. It reports whether anything has gone,
// be it lost.
func (t *Transport) cast() (moved bool) {
	t.overrun = false
	for burst := 0; burst < maxBurst && !t.queue.empty(); {
		t.gather()
		n, err := t.out.send(t.send)
		t.advance(n)
		burst += n
		moved = moved || n > 0
		switch {
		case err == nil, err == unix.EINTR:
		case err == unix.EAGAIN:
			t.block(true)
			return moved
		case err == unix.ENOBUFS:
			t.overrun = true
			return moved
		default:
			// A chunk with a hole is of no use: the rest of it is not sent.
			t.stats.Unsendable++
			t.queue.pop()
			moved = true
		}
	}
	t.block(false)
	return moved
}

// gather fills the batch with what is to be sent next.
func (t *Transport) gather() {
	for i := t.queue.head; i < len(t.queue.list) && !t.out.full(); i++ {
		c := &t.queue.list[i]
		for offset := c.sent; !t.out.full(); {
			payload := c.body[offset:min(offset+t.payload, len(c.body))]
			encodePart(t.out.add(payload), &t.id, &c.head, t.rank, len(c.body), offset, payload)
			if offset += len(payload); offset == len(c.body) {
				break
			}
		}
	}
}

// advance takes n datagrams off the queue.
func (t *Transport) advance(n int) {
	for range n {
		c := &t.queue.list[t.queue.head]
		bytes := min(t.payload, len(c.body)-c.sent)
		c.sent += bytes
		t.stats.McastFrames++
		t.stats.McastBytes += uint64(bytes)
		if c.sent == len(c.body) {
			t.queue.pop()
		}
	}
}

// block starts or ends waiting for room in the system's buffer. If that cannot
// be waited for, what is queued is lost.
func (t *Transport) block(full bool) {
	if t.blocked == full {
		return
	}
	t.blocked = full
	if t.sendWatch.Modify(false, full) != nil {
		t.blocked = false
		t.stats.Unsendable += uint64(len(t.queue.list) - t.queue.head)
		t.queue.clear()
	}
}
