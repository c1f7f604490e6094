// Package link models the links of hosts: how long a packet takes, what waits for a link, and what
// has crossed it.
package link

import "github.com/schedgen/schedgen/internal/model/queue"

// Link is one direction of a host's connection to the switch. T is a time in nanoseconds.
type Link[T ~int64] struct {
	Rate int64 `json:"rate,omitempty"` // bits per second; 0: without limit
	// Queue is the largest number of bytes that wait or are being sent. The link drops a packet
	// that does not fit. 0 means no limit.
	Queue int `json:"queue,omitempty"`
	Delay T   `json:"delay,omitempty"` // from the last bit sent to its arrival
	// Burst is how many bytes pass at once after a rest, as through a token bucket.
	Burst int `json:"burst,omitempty"`
}

// Pipe is a link in use.
type Pipe[T ~int64] struct {
	Link[T]
	leaving queue.Ring[Departure[T]] // the packets in the queue
	bytes   int                      // bytes in the queue
	free    T                        // when the last of them has left; at most a burst earlier

	count Count[T]
}

// Count is what has crossed a link.
type Count[T ~int64] struct {
	Packets int `json:"packets"`
	Bytes   int `json:"bytes"`
	Dropped int `json:"dropped"` // packets that found the queue full
	Deepest int `json:"deepest"` // the largest number of bytes in the queue
	Busy    T   `json:"busy"`    // time spent sending
}

// Departure is the time when some bytes leave.
type Departure[T ~int64] struct {
	At    T
	Bytes int
}

// Serialize returns how long it takes to send bytes bytes, in whole nanoseconds, rounded up.
func (l *Link[T]) Serialize(bytes int) T {
	if l.Rate == 0 {
		return 0
	}
	return T((int64(bytes)*8e9 + l.Rate - 1) / l.Rate)
}

// Free returns when the last byte of all packets has left, or 0 if there was none.
func (p *Pipe[T]) Free() T { return p.free }

// Count returns what has crossed the link.
func (p *Pipe[T]) Count() Count[T] { return p.count }

// drain removes the packets that have left by now.
func (p *Pipe[T]) drain(now T) {
	for p.leaving.Len() > 0 && p.leaving.At(0).At <= now {
		p.bytes -= p.leaving.Pop().Bytes
	}
}

// Full reports whether bytes more bytes do not fit the queue.
func (p *Pipe[T]) Full(now T, bytes int) bool {
	p.drain(now)
	return p.Queue > 0 && p.bytes+bytes > p.Queue
}

// Send takes a packet and returns when its last bit has left. ok is false if the packet is dropped.
// slow is the factor by which the packet takes longer than the link's rate says.
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
