package datagram

import "golang.org/x/sys/unix"

const (
	// sendBytes is the requested size of the sending socket's buffer. Datagrams count against it
	// until they are on the wire, so a small buffer makes the interface's rate the clock: about 40
	// datagrams of Ethernet's size wait at the interface, and do not overrun its queue.
	sendBytes = 32 << 10
	// mostSendBytes is the greatest request, for a process that runs too late.
	mostSendBytes = 256 << 10
	// calmTurns is how many times in a row the process must be in time before the request shrinks
	// again.
	calmTurns = 512
)

// room is how much of a socket's data may wait in the system. If all of it has left when the
// process comes to send more, the link was idle: its cores are shared, or the link is fast. Then
// more may wait. Less may wait if the interface's queue overflows.
type room struct {
	bytes int // requested size; 0: unchanged
	most  int
	calm  int  // consecutive turns in which the process was in time
	full  bool // the system took no more: the next turn shows whether the process is in time
}

// littleRoom is the initial room of sending sockets.
var littleRoom = room{bytes: sendBytes, most: mostSendBytes}

// ask requests a buffer size. If the system refuses, its current size must do.
func (r *room) ask(fd, bytes int) {
	r.bytes, r.calm = bytes, 0
	unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, bytes)
}

// turn is called when the process comes to send more.
func (r *room) turn(fd int) {
	if !r.full || r.bytes == 0 {
		return
	}
	r.full = false
	waiting, err := unix.IoctlGetInt(fd, unix.TIOCOUTQ)
	switch {
	case err != nil:
	case waiting == 0 && r.bytes < r.most:
		r.ask(fd, 2*r.bytes)
	case waiting == 0:
		r.calm = 0
	case r.calm < calmTurns:
		r.calm++
	case r.bytes > sendBytes:
		r.ask(fd, r.bytes/2)
	}
}

// overrun is called when the interface's queue has no room for the buffer's content.
func (r *room) overrun(fd int) {
	if r.bytes > sendBytes {
		r.most = r.bytes / 2
		r.ask(fd, r.most)
	}
}
