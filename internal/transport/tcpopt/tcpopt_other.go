//go:build !linux

package tcpopt

import "time"

// Hurry does nothing: the system has its own times.
func Hurry(int) {}

// Unpaced does nothing, like Hurry.
func Unpaced(int) {}

// Usual does nothing, like Hurry.
func Usual(int) {}

// Bear does nothing, like Hurry.
func Bear(int, time.Duration) {}

// Sent returns zeros: the values are not known.
func Sent(int) (again int, rate float64) { return 0, 0 }
