package tcp

import "golang.org/x/sys/unix"

// unqueued reports whether what a connection sends finds no queue on its way:
// answers take little longer than the fastest has. What they take longer anyway,
// in microseconds, is how late we may look.
func unqueued(fd int) bool {
	i, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	return err == nil && i.Rtt < i.Min_rtt+i.Min_rtt/2+uint32(turnPause.Microseconds())
}
