package stream

import (
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Puts to several hosts share this host's link, and each of the system's
// connections fills it as if it were alone: together they overrun the queue
// before it, or that of a receiver to which all put at the same time. So long
// writes go in turn, in the order of their puts: as long as turnBytes are on
// their way to other hosts, one that has nothing on its way waits. A
// connection alone is bounded after a rest (alone.go). Short writes, and those
// within the host, are the system's business.

const (
	// turnBytes keeps 10 Gbit/s busy for the 50 µs until confirmations are back.
	turnBytes = 64 << 10
	longWrite = 4 << 10
	// turnPause is how often to look for confirmations: the system wakes nobody
	// for them.
	turnPause = 250 * time.Microsecond
	// turnPatience is how long to wait while none comes at all: what is on its
	// way is lost, or its host is gone.
	turnPatience = 20 * time.Millisecond
)

// turns is who has something on its way, and who waits.
type turns struct {
	clock   clock.Clock
	ask     func(fd int) int           // how many bytes a connection has on its way
	unacked func(fd int) int           // those and what is not sent yet
	trip    func(fd int) time.Duration // how long the fastest of its answers took
	sharing []*outbound
	sum     int // bytes that they have on their way, at most
	queue   []*outbound
	moved   time.Time // when sum was last seen to fall, or one began to wait
	waiting atomic.Bool
}

// long reports whether the next write to o is one that is counted.
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

// room returns how many bytes may be written to o, 0 if it is not its turn.
func (u *turns) room(o *outbound) int {
	if o.sealed.record.left() > 0 || !o.long() {
		return maxWrite // a record that is begun goes on
	}
	if u.sum != o.flying && u.sum+longWrite > turnBytes {
		u.look()
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

// look asks the system what is on its way still.
func (u *turns) look() {
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

// await puts o behind those that wait for their turn, or before them if it has
// begun a frame.
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

// serveTurns writes to those whose turn has come.
func (t *Transport) serveTurns(s wire.Sink) (moved bool) {
	u := &t.sender.turns
	u.look()
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

// turnWait returns how long to wait at most: d, or less if some wait for
// their turn. d < 0 is without limit.
func (u *turns) turnWait(d time.Duration) time.Duration {
	if u.waiting.Load() && (d < 0 || d > turnPause) {
		return turnPause
	}
	return d
}
