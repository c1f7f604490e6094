package tcpopt

import (
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Ranks are near each other; where they are not, the system measures how long an answer takes and
// adds these. The receiver's delayed acknowledgement must come well before.
const (
	resendAfter = 10_000 // microseconds, at least
	confirmIn   = 5_000  // microseconds, at most; more than a tick of 250 Hz
	resendEvery = 1_000  // milliseconds, at most
)

// Hurry does so for a socket, as far as the kernel knows how: before 6.15, and where its clock ticks too
// seldom, it takes its time at first. A peer that confirms nothing is taken for dead after 15 s, unless
// Bear is called.
func Hurry(fd int) {
	if unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_DELACK_MAX_US, confirmIn) == nil {
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_RTO_MIN_US, resendAfter)
	}
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_RTO_MAX_MS, resendEvery)
	// Where little is under way, the first six times after a loss become no longer.
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_THIN_LINEAR_TIMEOUTS, 1)
}

// Sparse is for a socket by which little goes, and seldom. Once something is lost BBR takes that little for what the line can
// carry, and holds the next messages back for a second or two. Reno goes by losses, and every system has it.
func Sparse(fd int) {
	if name, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION); err == nil && strings.HasPrefix(name, "bbr") {
		_ = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno") // else it is slower, no more
	}
}

// Bear has a socket wait so long for a peer that confirms nothing.
func Bear(fd int, d time.Duration) {
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d/time.Millisecond))
}
