package datagram

import "golang.org/x/sys/unix"

const (
	// sendBytes is what is asked of the system for the sending socket's buffer.
	// Datagrams count against it until they are on the wire, so that a small one
	// makes the interface's own rate the clock: about 40 datagrams of Ethernet's
	// size wait at the interface, and do not overrun its queue.
	sendBytes = 32 << 10
	// mostSendBytes is what is asked for at most, where the process comes too late.
	mostSendBytes = 256 << 10
	// calmTurns is how often in a row the process has to come in time before less is asked for again.
	calmTurns = 512
)

// room is how much of what a socket sends may wait with the system. If all of that has left when the process
// comes to send more, the link has had nothing to do: its cores are shared, or the link is fast. Then more may wait.
// Less may if the interface's queue overflows.
type room struct {
	bytes int // asked for; 0: it stays as it is
	most  int
	calm  int  // turns in a row in which the process has come in time
	full  bool // nothing more has been taken: the next turn tells whether the process comes in time
}

// littleRoom is what sending sockets are opened with.
var littleRoom = room{bytes: sendBytes, most: mostSendBytes}

// ask asks the system for a buffer. If it refuses, its own will do.
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

// overrun is called when the interface's queue has no room for what the buffer takes.
func (r *room) overrun(fd int) {
	if r.bytes > sendBytes {
		r.most = r.bytes / 2
		r.ask(fd, r.most)
	}
}
