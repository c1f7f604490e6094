package group

import (
	"context"
	"sync"

	"github.com/schedgen/schedgen/runtime/membership"
)

// Message is a message of another member.
type Message struct {
	Origin membership.ID // the member that has published it
	Epoch  uint32        // epoch of the view in which it was published
	Seq    uint64        // number among the origin's messages, from 0
	Data   []byte        // owned by the receiver
}

// queue is the messages that the program has not taken.
type queue struct {
	mu       sync.Mutex
	changed  *sync.Cond
	messages []Message
	head     int
	bytes    int
	err      error // no more messages will come
}

func newQueue() *queue {
	q := new(queue)
	q.changed = sync.NewCond(&q.mu)
	return q
}

// push adds m.
func (q *queue) push(m Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.head > 0 && len(q.messages) == cap(q.messages) {
		n := copy(q.messages, q.messages[q.head:])
		clear(q.messages[n:])
		q.messages, q.head = q.messages[:n], 0
	}
	q.messages = append(q.messages, m)
	q.bytes += len(m.Data)
	q.changed.Broadcast()
}

// fail says that no message follows the queued ones.
func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
		q.changed.Broadcast()
	}
}

// next waits for a message. A queued message takes precedence over an error.
func (q *queue) next(ctx context.Context) (Message, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	err := q.await(ctx, func() bool { return len(q.messages) > q.head || q.err != nil })
	if len(q.messages) > q.head {
		return q.pop(), nil
	}
	if err == nil {
		err = q.err
	}
	return Message{}, err
}

func (q *queue) pop() Message {
	m := q.messages[q.head]
	q.messages[q.head] = Message{}
	q.head++
	q.bytes -= len(m.Data)
	if q.head == len(q.messages) {
		q.messages, q.head = q.messages[:0], 0
	}
	q.changed.Broadcast()
	return m
}

// room waits until there are fewer than the given numbers of messages and bytes.
func (q *queue) room(ctx context.Context, messages, bytes int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.await(ctx, func() bool { return len(q.messages)-q.head < messages && q.bytes < bytes || q.err != nil })
}

// await returns when met holds, or ctx ends.
func (q *queue) await(ctx context.Context, met func() bool) error {
	if met() {
		return nil
	}
	defer context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.changed.Broadcast()
	})()
	for !met() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		q.changed.Wait()
	}
	return nil
}
