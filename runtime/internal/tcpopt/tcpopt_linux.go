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

// Unpaced has a socket go by Reno, which every system has, where it would go by BBR. It is for one that has not
// connected, or that listens: what was paced once remains so. BBR sends at a pace, by timers, which between processes of one host
// takes up to twice as long as to send at once. And where little goes by a connection, and seldom, BBR takes that
// little for what the line can carry once something is lost, and holds the next messages back for a second or two.
func Unpaced(fd int) {
	if paces(control(fd)) {
		become(fd, "reno")
	}
}

// Usual has a socket go as the system's do, after Unpaced.
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

// paces reports whether a congestion control is a BBR, of whatever version.
func paces(name string) bool { return strings.HasPrefix(name, "bbr") }

// control returns the name of a socket's congestion control, empty where it has none.
func control(fd int) string {
	name, _ := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	return name
}

// become sets a socket's congestion control. If it fails the connection is slower, no more.
func become(fd int, name string) {
	_ = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
}

// Sent returns how many segments of a connection have been sent again, and how fast its window has the others go: so many bytes a second
// as it may have under way in the time that they take there and back. Where the window is more than the line holds that time is
// so much longer, so that this is what the line carries. It is 0 if that is not known, as where the peer has not taken what came.
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

// Bear has a socket wait so long for a peer that confirms nothing.
func Bear(fd int, d time.Duration) {
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d/time.Millisecond))
}
