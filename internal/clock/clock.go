// Package clock gives communicators and transports their time: the system's time, or the time of a
// test or simulation.
package clock

import (
	"context"
	"time"
)

// Clock is the source of time of a communicator or a transport.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in a goroutine of its own after d.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a pending call; see [time.Timer].
type Timer interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// System is the time of package time. Inside a testing/synctest bubble it is the bubble's virtual
// time.
type System struct{}

// Now returns the current time.
func (System) Now() time.Time { return time.Now() }

// AfterFunc calls f after d.
func (System) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// OrSystem returns c, or System if c is nil.
func OrSystem(c Clock) Clock {
	if c == nil {
		return System{}
	}
	return c
}

// Sleep returns nil after d has passed by c, or the cause of ctx's end if ctx ends first.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	over := make(chan struct{})
	defer c.AfterFunc(d, func() { close(over) }).Stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// WithTimeoutCause returns a context that ends with parent, or with cause after d has passed by c.
// Its Err is [context.Canceled] in both cases.
func WithTimeoutCause(parent context.Context, c Clock, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(parent)
	timer := c.AfterFunc(d, func() { end(cause) })
	return ctx, func() {
		timer.Stop()
		end(context.Canceled)
	}
}
