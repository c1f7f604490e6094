package datagram

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/transport/fragment"
	"github.com/schedgen/schedgen/runtime/wire"
)

// pair returns two UDP sockets on the loopback interface; the first is connected to the second.
func pair(t *testing.T) (from, to int) {
	var fds [2]int
	for i := range fds {
		fd, err := openSocket(4)
		require.NoError(t, err)
		t.Cleanup(func() { closeFD(fd) })
		require.NoError(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
		fds[i] = fd
	}
	sa, err := unix.Getsockname(fds[1])
	require.NoError(t, err)
	require.NoError(t, unix.Connect(fds[0], sa))
	return fds[0], fds[1]
}

// Datagrams of one length and destination form a train, which a shorter one ends.
func TestTrains(t *testing.T) {
	a, b := &address{}, &address{}
	type datagram struct {
		to    *address
		bytes int
	}
	for name, c := range map[string]struct {
		most int
		list []datagram
		want []int // datagrams of each train
	}{
		"of one length":        {trainMost, []datagram{{a, 90}, {a, 90}, {a, 90}}, []int{3}},
		"a shorter one ends":   {trainMost, []datagram{{a, 90}, {a, 90}, {a, 70}, {a, 70}, {a, 90}}, []int{3, 1, 1}},
		"a longer one":         {trainMost, []datagram{{a, 70}, {a, 90}, {a, 90}}, []int{1, 2}},
		"another rank":         {trainMost, []datagram{{a, 90}, {b, 90}, {b, 90}, {nil, 90}}, []int{1, 2, 1}},
		"the system cuts none": {1, []datagram{{a, 90}, {a, 90}, {a, 90}}, []int{1, 1, 1}},
		"too many":             {2, []datagram{{a, 90}, {a, 90}, {a, 90}}, []int{2, 1}},
		"too long":             {trainMost, []datagram{{a, trainBytes / 2}, {a, trainBytes / 2}, {a, 64}}, []int{2, 1}},
		"longer than trains":   {trainMost, []datagram{{a, 2 * trainBytes}, {a, 2 * trainBytes}}, []int{1, 1}},
	} {
		out := newOutBatch(len(c.list), 0)
		out.most = c.most
		for range 2 { // the second time with leftovers of the first
			for _, d := range c.list {
				out.add(d.to, make([]byte, max(0, d.bytes-fragment.HeadLen)))
			}
			require.True(t, out.full(), name)
			var got []int
			for i, tr := range out.trains[:out.used] {
				got = append(got, tr.n)
				require.EqualValues(t, 2*tr.n, out.msgs[i].hdr.Iovlen, name)
				require.Equal(t, tr.n > 1, out.msgs[i].hdr.Control != nil, name)
			}
			require.Equal(t, c.want, got, name)
			out.clear()
		}
	}
}

// Trains arrive as datagrams, in order, and in fewer messages if the system keeps trains whole.
func TestTrainsComeAsDatagrams(t *testing.T) {
	from, to := pair(t)
	require.True(t, merge(to))
	tr := &Transport{size: 2, payload: 1000, over: fragment.HeadLen}
	tr.group = outlet{fd: from, batch: newOutBatch(maxBurst, tr.payload+tr.over)}
	tr.group.batch.cutBy(from)
	in := newInBatch(maxBurst, tr.payload+tr.over, true)
	body := make([]byte, 20_500)
	for i := range body {
		body[i] = byte(i / 100)
	}
	for seq := range uint64(3) {
		tr.Mcast(&wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Seq: seq}, Body: body})
	}
	require.True(t, tr.cast())
	require.True(t, tr.group.queue.Empty())

	n, more, err := in.receive(to)
	require.NoError(t, err)
	require.Equal(t, 3*21, n)
	require.False(t, more)
	require.Less(t, in.parts[n-1].msg, n/3, "the loopback interface keeps trains whole")
	for i := range n {
		var p fragment.Part
		b, whole := in.datagram(i)
		require.True(t, whole)
		require.Equal(t, fragment.Sound, fragment.Decode(b, &tr.mark, tr.size, tr.payload, &p), "datagram %d", i)
		require.EqualValues(t, i/21, p.Seq)
		require.Equal(t, i%21*1000, p.Offset)
		require.True(t, bytes.Equal(body[p.Offset:p.Offset+p.Payload], b[fragment.HeadLen:]))
		require.True(t, in.from(i).Addr().IsLoopback())
	}
	_, _, err = in.receive(to)
	require.Equal(t, unix.EAGAIN, err)
}

// If the system refuses a train, its datagrams go one by one, once each.
func TestTrainsRefused(t *testing.T) {
	from, to := pair(t)
	require.NoError(t, unix.SetsockoptInt(from, unix.SOL_SOCKET, unix.SO_NO_CHECK, 1)) // without checksums the system does not cut trains
	tr := &Transport{size: 2, payload: 100, over: fragment.HeadLen}
	tr.group = outlet{fd: from, batch: newOutBatch(maxBurst, tr.payload+tr.over)}
	tr.group.batch.cutBy(from)
	require.Equal(t, trainMost, tr.group.batch.most)
	var unsent int
	tr.Mcast(chunkOf(tr, 0, 1, 1, &unsent))
	require.True(t, tr.cast(), "what is no train is not refused")
	require.Equal(t, trainMost, tr.group.batch.most)
	tr.Mcast(chunkOf(tr, 0, 2, 30, &unsent))
	require.True(t, tr.cast())
	require.Equal(t, 1, tr.group.batch.most)
	require.Zero(t, unsent)
	require.Zero(t, tr.stats.Unsendable)
	want := [][2]int{{1, 0}}
	for i := range 30 {
		want = append(want, [2]int{2, i})
	}
	require.Equal(t, want, come(t, tr, to))
}
