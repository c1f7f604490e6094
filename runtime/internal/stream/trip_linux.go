package stream

import (
	"time"

	"golang.org/x/sys/unix"
)

// leastTrip returns how long the fastest answer to a connection's segments took, 0
// if that is not known.
func leastTrip(fd int) time.Duration {
	i, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil || i.Min_rtt == 1<<32-1 {
		return 0
	}
	return time.Duration(i.Min_rtt) * time.Microsecond
}
