package datagram

import (
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/transport/fragment"
	"github.com/schedgen/schedgen/internal/transport/reactor"
	"github.com/schedgen/schedgen/runtime/wire"
)

// everybody stands for all ranks as a destination. Lower numbers stand for groups.
const everybody = -1

// outlet is a socket that sends datagrams, with its queue.
type outlet struct {
	fd      int
	watch   *reactor.Descriptor
	reading bool // watched for reading
	blocked bool // the system's buffer is full; watched for writing
	overrun bool // the interface's queue is full; tried again after a pause
	room    room // of the system's buffer
	queue   fragment.Queue
	batch   *outBatch // the first datagrams of the queue, as they are sent
}

// ready reports whether more can be sent without waiting.
func (o *outlet) ready() bool { return !o.queue.Empty() && !o.blocked && !o.overrun }

// Mcast queues the unreliable transfer of f to all other ranks, or to the ranks of its
// communicator's group. Chunks beyond 2 GiB are lost.
func (t *Transport) Mcast(f *wire.Frame) {
	to := everybody
	if g := t.groups.of[f.Comm]; g != nil {
		to = toGroup(g.slot)
	}
	t.enqueue(&t.group, to, f)
}

// Datagram queues the unreliable transfer of f to rank to.
func (t *Transport) Datagram(to int, f *wire.Frame) { t.enqueue(&t.direct, to, f) }

func (t *Transport) enqueue(o *outlet, to int, f *wire.Frame) {
	if t.closed || t.size == 1 || len(f.Body) > fragment.MaxChunk || to >= t.size {
		f.Release()
		return
	}
	o.queue.Push(to, f)
	if !t.busy.Load() {
		t.busy.Store(true)
	}
}

// cast sends a burst of queued datagrams. It reports whether any has gone, or is lost.
func (t *Transport) cast() bool {
	moved := t.flush(&t.direct)
	return t.flush(&t.group) || moved
}

func (t *Transport) flush(o *outlet) (moved bool) {
	o.overrun = false
	if o.blocked {
		return false // wait for the reactor: trying costs as much as sending
	}
	o.room.turn(o.fd)
	for burst := 0; burst < maxBurst && !o.queue.Empty(); {
		if o.batch.empty() {
			t.gather(o)
		}
		n, err := o.batch.send(o.fd)
		t.advance(o, n)
		burst += n
		moved = moved || n > 0
		switch {
		case err == nil, err == unix.EINTR:
		case err == unix.EAGAIN:
			o.room.full = true
			t.block(o, true)
			return moved
		case err == unix.ENOBUFS:
			o.overrun = true
			o.room.overrun(o.fd)
			return moved
		case err == unix.ECONNREFUSED:
			burst++ // an earlier datagram has reached a rank that has closed; this one has not been sent
		case o.batch.uncut(err):
		default:
			// A chunk with a gap is useless, so the rest of it is not sent.
			t.stats.Unsendable++
			o.queue.Pop()
			o.batch.clear()
			moved = true
		}
	}
	return moved
}

// abandon removes the queued frames of a communicator.
func (o *outlet) abandon(comm uint8) {
	o.queue.Abandon(comm)
	o.batch.clear()
}

// clear removes all queued frames.
func (o *outlet) clear() {
	o.queue.Clear()
	o.batch.clear()
}

// gather fills the empty batch with the next datagrams.
func (t *Transport) gather(o *outlet) {
	waiting := o.queue.Waiting()
	for i := 0; i < len(waiting) && !o.batch.full(); i++ {
		c := &waiting[i]
		for sent := c.Sent; !o.batch.full(); {
			payload := c.Next(sent, t.payload)
			t.add(o.batch, c, c.Offset+sent, payload)
			if sent += len(payload); sent == len(c.Body) {
				break
			}
		}
	}
}

// add adds one datagram of a chunk.
func (t *Transport) add(b *outBatch, c *fragment.Chunk, offset int, payload []byte) {
	if t.sealed != nil {
		to := c.To
		if to < everybody {
			to = int(t.groups.groupAt(to).in.to)
		}
		b.addWhole(t.name(c.To), t.seal(b.room(), &c.Head, to, c.Head.Len, offset, payload))
		return
	}
	fragment.Encode(b.add(t.name(c.To), payload), &t.mark, &c.Head, t.rank, c.Head.Len, offset, payload)
}

// name returns the address of a rank or a group, or nil for the group of all.
func (t *Transport) name(to int) *address {
	switch {
	case to == everybody:
		return nil
	case to < everybody:
		return &t.groups.groupAt(to).to
	}
	return &t.names[to]
}

// advance removes n datagrams from the queue.
func (t *Transport) advance(o *outlet, n int) {
	for range n {
		o.queue.Sent(t.payload, &t.stats)
	}
}

// block starts or ends the wait for room in the system's buffer. If waiting is impossible, queued
// frames are lost.
func (t *Transport) block(o *outlet, full bool) {
	if o.blocked == full {
		return
	}
	o.blocked = full
	if o.watch.Modify(o.reading, full) != nil {
		o.blocked = false
		t.stats.Unsendable += uint64(len(o.queue.Waiting()))
		o.clear()
	}
}
