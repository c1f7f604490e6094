// Package link is links of hosts: how long they take, what waits for them, and what
// has crossed them.
package link

import "github.com/schedgen/schedgen/sim/queue"

// Link is one direction of a host's connection to the switch.
type Link[T ~int64] struct {
	Rate  int64 `json:"rate,omitempty"`  // bits per second; 0: without limit
	Queue int   `json:"queue,omitempty"` // bytes that wait or are being sent; what does not fit is dropped; 0: without limit
	Delay T     `json:"delay,omitempty"` // from the last bit sent to its arrival
	Burst int   `json:"burst,omitempty"` // bytes that pass at once after a rest, as through a token bucket
}

// Pipe is a link in use.
type Pipe[T ~int64] struct {
	Link[T]
	leaving queue.Ring[Departure[T]] // what is in the queue
	bytes   int                      // of that
	free    T                        // when the last of it has left; earlier than that by a burst, at most

	count Count[T]
}

// Count is what crossed a link.
type Count[T ~int64] struct {
	Packets int `json:"packets"`
	Bytes   int `json:"bytes"`
	Dropped int `json:"dropped"` // packets that found the queue full
	Deepest int `json:"deepest"` // bytes in the queue at most
	Busy    T   `json:"busy"`    // time spent sending
}

// Departure is when some bytes leave.
type Departure[T ~int64] struct {
	At    T
	Bytes int
}

// Serialize is how long it takes to send so many bytes, in whole nanoseconds.
func (l *Link[T]) Serialize(bytes int) T {
	if l.Rate == 0 {
		return 0
	}
	return T((int64(bytes)*8e9 + l.Rate - 1) / l.Rate)
}

// Free returns when the last byte of what it was given has left, 0 if there was none.
func (p *Pipe[T]) Free() T { return p.free }

// Count returns what has crossed the link.
func (p *Pipe[T]) Count() Count[T] { return p.count }

// drain forgets what has left by now.
func (p *Pipe[T]) drain(now T) {
	for p.leaving.Len() > 0 && p.leaving.At(0).At <= now {
		p.bytes -= p.leaving.Pop().Bytes
	}
}

// Full reports whether so many bytes find no room.
func (p *Pipe[T]) Full(now T, bytes int) bool {
	p.drain(now)
	return p.Queue > 0 && p.bytes+bytes > p.Queue
}

// Send takes a packet and returns when its last bit has left; ok is false if
// it is dropped. slow is how many times longer it takes than the link should.
func (p *Pipe[T]) Send(now T, bytes, slow int) (left T, ok bool) {
	if p.Full(now, bytes) {
		p.count.Dropped++
		return 0, false
	}
	took := p.Serialize(bytes) * T(slow)
	p.free = max(p.free, now-p.Serialize(p.Burst)) + took
	p.count.Packets++
	p.count.Bytes += bytes
	p.count.Busy += took
	if p.free > now {
		p.leaving.Push(Departure[T]{p.free, bytes})
		p.bytes += bytes
		p.count.Deepest = max(p.count.Deepest, p.bytes)
	}
	return max(p.free, now), true
}
