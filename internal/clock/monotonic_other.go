//go:build !linux

package clock

import "time"

// Monotonic returns the machine's clock, which all processes of a host share. Setting the clock
// changes it.
func Monotonic() time.Duration { return time.Duration(time.Now().UnixNano()) }
