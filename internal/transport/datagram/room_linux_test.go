package datagram

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// fillUp sends until the system takes no more, and returns how many datagrams it has taken.
func fillUp(t *testing.T, tr *Transport, unsent *int) (n uint64) {
	began := tr.stats.McastFrames
	for !tr.group.blocked {
		if tr.group.queue.Empty() {
			tr.Mcast(chunkOf(tr, 0, 1, 200, unsent))
		}
		tr.cast()
	}
	return tr.stats.McastFrames - began
}

// More may wait in the system if it is empty whenever the process comes, and less again if the
// process is in time.
func TestRoom(t *testing.T) {
	tr, far := narrow(t)
	tr.group.room = littleRoom
	tr.group.room.ask(tr.group.fd, sendBytes)
	var unsent int
	little := fillUp(t, tr, &unsent)
	require.Equal(t, sendBytes, tr.group.room.bytes, "it has just begun")
	for want := 2 * sendBytes; want <= mostSendBytes; want *= 2 {
		come(t, tr, far)
		tr.block(&tr.group, false)
		fillUp(t, tr, &unsent)
		require.Equal(t, want, tr.group.room.bytes)
	}
	come(t, tr, far)
	tr.block(&tr.group, false)
	much := fillUp(t, tr, &unsent)
	require.Equal(t, mostSendBytes, tr.group.room.bytes, "no more than that")
	require.Greater(t, much, little*3/2)

	b := make([]byte, 2*tr.payload)
	turn := func() {
		_, err := unix.Read(far, b)
		require.NoError(t, err)
		tr.block(&tr.group, false)
		fillUp(t, tr, &unsent)
	}
	for range calmTurns {
		turn()
	}
	require.Equal(t, mostSendBytes, tr.group.room.bytes)
	turn()
	require.Equal(t, mostSendBytes/2, tr.group.room.bytes)
}

// If the interface's queue has no room for it, the larger size is not requested again.
func TestRoomOfInterface(t *testing.T) {
	tr, far := narrow(t)
	tr.group.room = littleRoom
	tr.group.room.ask(tr.group.fd, mostSendBytes)
	tr.group.room.overrun(tr.group.fd)
	var unsent int
	for range 3 {
		fillUp(t, tr, &unsent)
		require.Equal(t, mostSendBytes/2, tr.group.room.bytes)
		come(t, tr, far)
		tr.block(&tr.group, false)
	}
	tr.group.room.ask(tr.group.fd, sendBytes)
	tr.group.room.overrun(tr.group.fd)
	require.Equal(t, sendBytes, tr.group.room.bytes)
}
