package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic returns the machine's monotonic clock, which all processes of a host share and nobody
// sets.
func Monotonic() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return time.Duration(time.Now().UnixNano()) // cannot happen: every Linux has it
	}
	return time.Duration(ts.Nano())
}
