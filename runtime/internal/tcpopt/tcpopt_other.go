//go:build !linux

package tcpopt

import "time"

// Hurry does nothing: the system has its own times.
func Hurry(int) {}

// Sparse does nothing, as Hurry.
func Sparse(int) {}

// Bear does nothing, as Hurry.
func Bear(int, time.Duration) {}
