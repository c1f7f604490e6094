package stream

import (
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Puts to several hosts share this host's link, and each of the system's connections fills it as if
// it were alone: together they overrun the queue before the link, or the queue of a receiver of
// simultaneous puts. So long writes take turns, in the order of their puts: while turnBytes are
// under way to other hosts, a connection with nothing under way waits. A connection alone is
// limited after a rest (alone.go). The system handles short writes, and writes within the host.

const (
	// turnBytes keeps 10 Gbit/s busy for the 50 µs until confirmations are back.
	turnBytes = 64 << 10
	longWrite = 4 << 10
	// turnPause is how often to check for confirmations, for which the system wakes no process.
	turnPause = 250 * time.Microsecond
	// turnPatience is how long to wait while no confirmation comes: the bytes are lost, or their
	// host is gone.
	turnPatience = 20 * time.Millisecond
)

// turns tracks the connections with bytes under way, and the waiting connections.
type turns struct {
	clock   clock.Clock
	ask     func(fd int) int           // how many bytes a connection has under way
	unacked func(fd int) int           // bytes under way and unsent bytes
	trip    func(fd int) time.Duration // time of a connection's fastest answer
	sharing []*outbound
	sum     int // greatest number of bytes that connections in sharing may have under way
	queue   []*outbound
	moved   time.Time // when sum last fell, or the first connection began to wait
	waiting atomic.Bool
}

// long reports whether turns apply to the next write to o.
func (o *outbound) long() bool {
	if o.p.near {
		return false
	}
	n := -o.sent
	for i := 0; i < o.q.n && n < longWrite; i++ {
		n += o.q.at(i).len()
	}
	return n >= longWrite
}

// room returns how many bytes may be written to o, or 0 if it is not its turn.
func (u *turns) room(o *outbound) int {
	if o.sealed.record.left() > 0 || !o.long() {
		return maxWrite // a record that was begun goes on
	}
	if u.sum != o.flying && u.sum+longWrite > turnBytes {
		u.readUnsent()
	}
	if u.sum == o.flying {
		return u.alone(o)
	}
	if left := turnBytes - u.sum; left >= longWrite {
		return left
	}
	return 0
}

// wrote counts n bytes that o has written.
func (u *turns) wrote(o *outbound, n int) {
	if n < longWrite && o.flying == 0 || o.p.near {
		return
	}
	if !o.sharing {
		o.sharing = true
		u.sharing = append(u.sharing, o)
	}
	o.flying += n
	o.start.gone += n
	u.sum += n
}

// readUnsent asks the system which bytes are still under way.
func (u *turns) readUnsent() {
	before := u.sum
	kept := u.sharing[:0]
	u.sum = 0
	for _, o := range u.sharing {
		if o.flying = 0; !o.dead {
			o.flying = u.ask(o.fd)
		}
		if o.sharing = o.flying > 0; o.sharing {
			kept = append(kept, o)
			u.sum += o.flying
		}
	}
	clear(u.sharing[len(kept):])
	u.sharing = kept
	if u.sum < before {
		u.moved = u.clock.Now()
	}
}

// await queues o for its turn: at the end, or at the front if it has begun a frame.
func (u *turns) await(o *outbound) {
	if len(u.queue) == 0 {
		u.moved = u.clock.Now()
	}
	o.turn = true
	u.queue = append(u.queue, o)
	if o.sent > 0 {
		copy(u.queue[1:], u.queue)
		u.queue[0] = o
	}
	u.waiting.Store(true)
}

// serveTurns writes to the connections whose turn has come.
func (t *Transport) serveTurns(s wire.Sink) (moved bool) {
	u := &t.sender.turns
	u.readUnsent()
	for len(u.queue) > 0 {
		o := u.queue[0]
		if !o.dead && u.room(o) == 0 {
			now := u.clock.Now()
			if now.Sub(u.moved) < turnPatience {
				break
			}
			u.moved = now
			u.sum, o.flying = 0, 0 // as if it were alone
			o.start.gone = startBytes
		}
		o.turn = false
		u.queue = append(u.queue[:0], u.queue[1:]...)
		if !o.dead {
			moved = t.flush(o, s) || moved
		}
	}
	u.waiting.Store(len(u.queue) > 0)
	return moved
}

// turnWait returns how long to wait at most: d, or less if connections wait for their turn. d < 0
// means no limit.
func (u *turns) turnWait(d time.Duration) time.Duration {
	if u.waiting.Load() && (d < 0 || d > turnPause) {
		return turnPause
	}
	return d
}
