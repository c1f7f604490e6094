// Package netpoll waits for many file descriptors at once. It is the park
// bench of the transports that drive their sockets themselves: level-triggered,
// without a goroutine per descriptor, and with a Wake for everybody else.
package netpoll

import (
	"errors"
	"sync/atomic"
)

// ErrClosed is returned by calls on a closed poller.
var ErrClosed = errors.New("netpoll: poller is closed")

// Event says what a descriptor is ready for. A descriptor in error, or whose
// peer has hung up, is ready for whatever it was registered for: the read or
// write that follows learns why.
type Event struct {
	Token       int32 // as given to Add
	Read, Write bool
}

// MaxBatch is the largest number of events that one Wait returns.
const MaxBatch = 64

// wakeToken marks the descriptor that Wake writes to.
const wakeToken = -1

// waker decides whether a Wake needs a system call at all: only if somebody is
// inside Wait. Both sides store first and look at the other's word afterwards,
// so one of them sees the other.
type waker struct {
	pending atomic.Bool
	waiting atomic.Int32
}

// wake notes a wake-up and reports whether a waiter has to be kicked.
func (w *waker) wake() bool {
	return !w.pending.Swap(true) && w.waiting.Load() > 0
}

// enter announces a waiter; it reports false if there is a wake-up to take
// instead of waiting.
func (w *waker) enter() bool {
	w.waiting.Add(1)
	return !w.pending.Swap(false)
}

func (w *waker) leave() { w.waiting.Add(-1) }

// reset is called after the kick has been read. It swaps because what the caller
// looks at next must be newer, and the race detector's stores only release.
func (w *waker) reset() { w.pending.Swap(false) }
