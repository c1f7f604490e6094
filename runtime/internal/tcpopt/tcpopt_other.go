//go:build !linux

package tcpopt

import "time"

// Hurry does nothing: the system has its own times.
func Hurry(int) {}

// Unpaced does nothing, as Hurry.
func Unpaced(int) {}

// Usual does nothing, as Hurry.
func Usual(int) {}

// Bear does nothing, as Hurry.
func Bear(int, time.Duration) {}

// Sent is not known.
func Sent(int) (again int, rate float64) { return 0, 0 }
