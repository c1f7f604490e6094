package stream

import (
	"time"

	"golang.org/x/sys/unix"
)

// leastTrip returns the time of the fastest answer to a connection's segments, or 0 if it is not
// known.
func leastTrip(fd int) time.Duration {
	i, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil || i.Min_rtt == 1<<32-1 {
		return 0
	}
	return time.Duration(i.Min_rtt) * time.Microsecond
}
