package datagram

import (
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/internal/reactor"
	"github.com/schedgen/schedgen/runtime/wire"
)

// everybody is in the place of a rank to which datagrams go.
const everybody = -1

// chunk is a frame that waits to be sent as datagrams.
type chunk struct {
	head   wire.Header
	to     int // rank; of what is multicast everybody
	body   []byte
	offset int // of body in what the header is of
	unsent *int
	sent   int // bytes that are with the system
}

// castQueue is chunks in the order in which they were queued.
type castQueue struct {
	list []chunk
	head int
}

func (q *castQueue) empty() bool { return q.head == len(q.list) }

func (q *castQueue) push(to int, f *wire.Frame) {
	c := chunk{head: f.Header, to: to, body: f.Body, offset: f.Offset, unsent: f.Unsent}
	c.head.Len = f.Whole()
	q.list = append(q.list, c)
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

// abandon takes out what is of a communicator.
func (q *castQueue) abandon(comm uint8) {
	n := q.head
	for _, c := range q.list[q.head:] {
		if c.head.Comm != comm {
			q.list[n] = c
			n++
		} else if c.unsent != nil {
			*c.unsent--
		}
	}
	clear(q.list[n:])
	q.list = q.list[:n]
	if q.empty() {
		q.list, q.head = q.list[:0], 0
	}
}

// outlet is a socket that sends datagrams, and what waits to be sent from it.
type outlet struct {
	fd      int
	watch   *reactor.Descriptor
	reading bool // watched for reading
	blocked bool // the system's buffer is full; watched for writing
	overrun bool // the interface's queue is full; tried again after a pause
	queue   castQueue
	batch   *outBatch
}

// ready reports whether more can be sent without waiting.
func (o *outlet) ready() bool { return !o.queue.empty() && !o.blocked && !o.overrun }

// Mcast queues the unreliable transfer of f to all other ranks. Chunks beyond
// 2 GiB are lost.
func (t *Transport) Mcast(f *wire.Frame) { t.enqueue(&t.group, everybody, f) }

// Datagram queues the unreliable transfer of f to rank to.
func (t *Transport) Datagram(to int, f *wire.Frame) { t.enqueue(&t.direct, to, f) }

func (t *Transport) enqueue(o *outlet, to int, f *wire.Frame) {
	if t.closed || t.size == 1 || len(f.Body) > maxChunk || to >= t.size {
		if f.Unsent != nil {
			*f.Unsent--
		}
		return
	}
	o.queue.push(to, f)
	if !t.busy.Load() {
		t.busy.Store(true)
	}
}

// cast sends a burst of what is queued. It reports whether anything has gone,
// be it lost.
func (t *Transport) cast() bool {
	moved := t.flush(&t.direct)
	return t.flush(&t.group) || moved
}

func (t *Transport) flush(o *outlet) (moved bool) {
	o.overrun = false
	for burst := 0; burst < maxBurst && !o.queue.empty(); {
		t.gather(o)
		n, err := o.batch.send(o.fd)
		t.advance(o, n)
		burst += n
		moved = moved || n > 0
		switch {
		case err == nil, err == unix.EINTR:
		case err == unix.EAGAIN:
			t.block(o, true)
			return moved
		case err == unix.ENOBUFS:
			o.overrun = true
			return moved
		case err == unix.ECONNREFUSED:
			burst++ // an earlier datagram has come to a rank that has closed; this one has not been sent
		default:
			// A chunk with a hole is of no use: the rest of it is not sent.
			t.stats.Unsendable++
			o.queue.pop()
			moved = true
		}
	}
	t.block(o, false)
	return moved
}

// gather fills the batch with what is to be sent next.
func (t *Transport) gather(o *outlet) {
	for i := o.queue.head; i < len(o.queue.list) && !o.batch.full(); i++ {
		c := &o.queue.list[i]
		for offset := c.sent; !o.batch.full(); {
			payload := c.body[offset:min(offset+t.payload, len(c.body))]
			t.add(o.batch, c, c.offset+offset, payload)
			if offset += len(payload); offset == len(c.body) {
				break
			}
		}
	}
}

// add adds one datagram of a chunk.
func (t *Transport) add(b *outBatch, c *chunk, offset int, payload []byte) {
	if t.sealed != nil {
		b.addWhole(t.name(c.to), t.seal(b.room(), &c.head, c.to, c.head.Len, offset, payload))
		return
	}
	encodePart(b.add(t.name(c.to), payload), &t.id, &c.head, t.rank, c.head.Len, offset, payload)
}

// name returns where datagrams to a rank go; nil to the group.
func (t *Transport) name(to int) *address {
	if to < 0 {
		return nil
	}
	return &t.names[to]
}

// advance takes n datagrams off the queue.
func (t *Transport) advance(o *outlet, n int) {
	for range n {
		c := &o.queue.list[o.queue.head]
		bytes := min(t.payload, len(c.body)-c.sent)
		c.sent += bytes
		if c.to < 0 {
			t.stats.McastFrames++
			t.stats.McastBytes += uint64(bytes)
		} else {
			t.stats.DatagramFrames++
		}
		if c.sent == len(c.body) {
			o.queue.pop()
		}
	}
}

// block starts or ends waiting for room in the system's buffer. If that cannot
// be waited for, what is queued is lost.
func (t *Transport) block(o *outlet, full bool) {
	if o.blocked == full {
		return
	}
	o.blocked = full
	if o.watch.Modify(o.reading, full) != nil {
		o.blocked = false
		t.stats.Unsendable += uint64(len(o.queue.list) - o.queue.head)
		o.queue.clear()
	}
}
