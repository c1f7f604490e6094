// Package clock is where communicators take their time from: the system, or who
// runs them in a time of their own.
package clock

import "time"

// Clock is where a communicator takes its time from.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in a goroutine of its own once d has passed.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a call that is still to come; see [time.Timer].
type Timer interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// System is the time of package time. Inside a testing/synctest bubble
// that is the bubble's virtual time.
type System struct{}

// Now returns the current time.
func (System) Now() time.Time { return time.Now() }

// AfterFunc calls f after d.
func (System) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
