package tcpopt

import (
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Ranks are near each other. Where they are not, the system measures the time of an answer and adds
// these times. The receiver's delayed acknowledgement must come well before.
const (
	resendAfter = 10_000 // microseconds, at least
	confirmIn   = 5_000  // microseconds, at most; more than a tick of 250 Hz
	resendEvery = 1_000  // milliseconds, at most
)

// Hurry sets these times for a socket, as far as the kernel can: before 6.15, and where its clock
// ticks too seldom, the first resends are slower. A peer that confirms nothing counts as dead after
// 15 s, unless Bear is called.
func Hurry(fd int) {
	if unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_DELACK_MAX_US, confirmIn) == nil {
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_RTO_MIN_US, resendAfter)
	}
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_RTO_MAX_MS, resendEvery)
	// If little is under way, the first six intervals after a loss do not grow.
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_THIN_LINEAR_TIMEOUTS, 1)
}

// Unpaced makes a socket use Reno, which every system has, instead of BBR. Call it before the
// socket connects or listens: pacing that has begun does not end. BBR paces by timers; between
// processes of one host this takes up to twice as long as sending at once. If a connection carries
// little, and seldom, BBR takes that little for the line's capacity after a loss, and holds the
// next messages back for a second or two.
func Unpaced(fd int) {
	if paces(control(fd)) {
		become(fd, "reno")
	}
}

// Usual undoes Unpaced: the socket uses the system's congestion control.
func Usual(fd int) {
	if control(fd) != "reno" {
		return // Unpaced has done nothing
	}
	other, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	if name := control(other); paces(name) {
		become(fd, name)
	}
	_ = unix.Close(other)
}

// paces reports whether a congestion control is a version of BBR.
func paces(name string) bool { return strings.HasPrefix(name, "bbr") }

// control returns the name of a socket's congestion control, or "".
func control(fd int) string {
	name, _ := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	return name
}

// become sets a socket's congestion control. If that fails, the connection is only slower.
func become(fd int, name string) {
	_ = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
}

// Sent returns how many segments of a connection have been sent again, and the rate that its window
// allows: the bytes it may have under way, divided by the round trip time. If the window is larger
// than the line holds, the round trip takes so much longer, so this is the line's rate. rate is 0
// if it is not known, for example because the peer has not read what arrived.
func Sent(fd int) (again int, rate float64) {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return 0, 0
	}
	again = int(info.Total_retrans)
	if info.Rtt == 0 || info.Rwnd_limited > 0 {
		return again, 0
	}
	return again, float64(info.Snd_cwnd) * float64(info.Snd_mss) / float64(info.Rtt) * 1e6
}

// Bear sets how long a socket waits for a peer that confirms nothing.
func Bear(fd int, d time.Duration) {
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d/time.Millisecond))
}
