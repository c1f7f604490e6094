// Package tcpopt makes the system soon resend the segments that a TCP connection has lost.
//
// Often no frame follows a lost one for a while, so only time shows the loss. By default Linux
// waits at least 200 ms, and twice as long after every further loss: with 30 % of all packets lost,
// minutes in the end.
package tcpopt

import "syscall"

// Of calls set with the descriptor of c, a connection or a listener. It does nothing if c is
// closed.
func Of(c syscall.Conn, set func(fd int)) {
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { set(int(fd)) }) // it fails only if c is closed
	}
}

// Begin is Hurry and Unpaced for a socket that has not connected yet. The system measures the first
// round trip while it connects, and for long afterwards uses the least time that is set by then.
// Accepted connections do not inherit that from the listener.
func Begin(fd int) {
	Unpaced(fd)
	Hurry(fd)
}
