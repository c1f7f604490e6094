// Package tcpopt has the system send again soon what a TCP connection has lost.
//
// A frame is often the last for a while: no later one tells that it is lost,
// only time. Left to itself Linux takes 200 ms at least, and twice as long after every
// further loss: where 30 % of all packets are lost, minutes in the end.
package tcpopt

import "syscall"

// Of calls set with the descriptor of c, which is a connection or listens. It does nothing if c is closed.
func Of(c syscall.Conn, set func(fd int)) {
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { set(int(fd)) }) // it fails only if c is closed
	}
}

// Begin is Hurry and Unpaced for a socket that has not connected yet. The system measures the first round trip while
// it connects, and for long after goes by the least time that it has been told until then. What a listener accepts does not have that from it.
func Begin(fd int) {
	Unpaced(fd)
	Hurry(fd)
}
