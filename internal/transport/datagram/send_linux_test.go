package datagram

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/transport/fragment"
	"github.com/schedgen/schedgen/internal/transport/reactor"
	"github.com/schedgen/schedgen/runtime/wire"
)

// narrow returns a transport whose multicasts go to a socket with room for only a few.
func narrow(t *testing.T) (tr *Transport, far int) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	require.NoError(t, err)
	for _, fd := range fds {
		require.NoError(t, unix.SetNonblock(fd, true))
		t.Cleanup(func() { closeFD(fd) })
	}
	require.NoError(t, unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_SNDBUF, 1)) // the system rounds it up to its minimum
	r, err := reactor.New()
	require.NoError(t, err)
	t.Cleanup(r.Close)
	tr = &Transport{size: 2, payload: 100, over: fragment.HeadLen}
	tr.group = outlet{fd: fds[0], batch: newOutBatch(minBatch, tr.payload+tr.over)}
	tr.group.watch = r.Descriptor(fds[0], reactor.Func(func(_, _ bool) { tr.block(&tr.group, false) }))
	return tr, fds[1]
}

// chunkOf returns a multicast of operation seq with a number of datagrams.
func chunkOf(tr *Transport, comm uint8, seq uint64, datagrams int, unsent *int) *wire.Frame {
	body := make([]byte, datagrams*tr.payload)
	for i := range body {
		body[i] = byte(i / tr.payload)
	}
	*unsent = 1
	return &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Comm: comm, Seq: seq}, Body: body, Unsent: unsent}
}

// come reads all arrivals, as pairs of operation and index in it.
func come(t *testing.T, tr *Transport, far int) (all [][2]int) {
	b := make([]byte, 2*tr.payload)
	for {
		n, err := unix.Read(far, b)
		if err == unix.EAGAIN {
			return all
		}
		require.NoError(t, err)
		var p fragment.Part
		require.Equal(t, fragment.Sound, fragment.Decode(b[:n], &tr.mark, tr.size, tr.payload, &p))
		at := p.Offset / tr.payload
		require.Equal(t, byte(at), b[fragment.HeadLen])
		all = append(all, [2]int{int(p.Seq), at})
	}
}

// Datagrams that the system has no room for wait, are not retried before there is room, and go in
// order, once.
func TestFullSystem(t *testing.T) {
	tr, far := narrow(t)
	var unsent [2]int
	tr.Mcast(chunkOf(tr, 0, 1, 30, &unsent[0]))
	tr.Mcast(chunkOf(tr, 0, 2, 25, &unsent[1]))
	var got, want [][2]int
	full := 0
	for !tr.group.queue.Empty() {
		require.True(t, tr.cast())
		got = append(got, come(t, tr, far)...)
		if !tr.group.blocked {
			continue
		}
		full++
		require.False(t, tr.cast(), "nobody has told that there is room")
		require.Empty(t, come(t, tr, far))
		require.Equal(t, len(got) < 30, unsent[0] == 1)
		tr.block(&tr.group, false)
	}
	for i := range 30 {
		want = append(want, [2]int{1, i})
	}
	for i := range 25 {
		want = append(want, [2]int{2, i})
	}
	require.Equal(t, want, got)
	require.Greater(t, full, 3)
	require.Equal(t, [2]int{}, unsent)
	require.EqualValues(t, 55, tr.stats.McastFrames)
	require.EqualValues(t, 55*100, tr.stats.McastBytes)
}

// An abandoned multicast does not go when the system has room again; later ones do.
func TestAbandonWhileFull(t *testing.T) {
	tr, far := narrow(t)
	var unsent [2]int
	tr.Mcast(chunkOf(tr, 7, 1, 60, &unsent[0]))
	tr.Mcast(chunkOf(tr, 0, 2, 3, &unsent[1]))
	require.True(t, tr.cast())
	require.True(t, tr.group.blocked)
	gone := len(come(t, tr, far))
	require.Less(t, gone, 60)
	tr.group.abandon(7)
	require.Zero(t, unsent[0])
	tr.block(&tr.group, false)
	require.True(t, tr.cast())
	require.Equal(t, [][2]int{{2, 0}, {2, 1}, {2, 2}}, come(t, tr, far))
	require.Zero(t, unsent[1])
}
