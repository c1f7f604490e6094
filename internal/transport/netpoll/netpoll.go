// Package netpoll waits for many file descriptors at once. Transports that drive their sockets
// themselves park here. It is level-triggered, needs no goroutine per descriptor, and can be woken
// by other goroutines.
package netpoll

import (
	"errors"
	"sync/atomic"
)

// ErrClosed is returned by calls on a closed poller.
var ErrClosed = errors.New("netpoll: poller is closed")

// Event says what a descriptor is ready for. A descriptor in error, or whose peer has hung up, is
// ready for both; the next read or write returns the reason.
type Event struct {
	Token       int32 // as given to Add
	Read, Write bool
}

// MaxBatch is the greatest number of events that one Wait returns.
const MaxBatch = 64

// wakeToken is the token of the descriptor that Wake writes to.
const wakeToken = -1

// waker decides whether a Wake needs a system call: only if a goroutine is inside Wait. Both sides
// store first and then load the other's word, so one of them sees the other.
type waker struct {
	pending atomic.Bool
	waiting atomic.Int32
}

// wake records a wake-up and reports whether a waiter must be kicked.
func (w *waker) wake() bool {
	return !w.pending.Swap(true) && w.waiting.Load() > 0
}

// enter announces a waiter; it returns false if there is a wake-up to take instead of waiting.
func (w *waker) enter() bool {
	w.waiting.Add(1)
	return !w.pending.Swap(false)
}

func (w *waker) leave() { w.waiting.Add(-1) }

// reset is called after the kick has been read. It uses a swap because the caller's next loads must
// be newer, and the race detector's stores only release.
func (w *waker) reset() { w.pending.Swap(false) }
