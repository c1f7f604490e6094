package stream

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// JoinShared joins ranks, each with one port for everything.
func JoinShared(t testing.TB, size int, guests func(net.Conn)) ([]*Transport, []net.Listener) {
	ls := make([]net.Listener, size)
	for rank := range ls {
		var err error
		ls[rank], err = net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { ls[rank].Close() })
	}
	trs, errs := make([]*Transport, size), make([]error, size)
	var wg sync.WaitGroup
	for rank, l := range ls {
		wg.Go(func() {
			trs[rank], errs[rank] = Join(t.Context(), Config{Options: Options{
				Rank: rank, Size: size, Coordinator: ls[0].Addr().String(), Listener: l, Share: true, Guests: guests,
			}})
		})
	}
	wg.Wait()
	for rank, err := range errs {
		require.NoError(t, err, "rank %d", rank)
	}
	return trs, ls
}

// Many ranks, some with ranks below them while they meet, connect as soon as they have met.
func TestSharedTree(t *testing.T) {
	for range 5 {
		trs, _ := JoinShared(t, 24, nil)
		s := &log{}
		for _, tr := range trs[1:] {
			tr.Put(0, &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot}})
		}
		until(t, trs[0], s, func() bool {
			for _, tr := range trs[1:] {
				tr.Poll(&log{})
			}
			return s.frames == len(trs)-1
		})
		for _, tr := range trs {
			require.NoError(t, tr.Close(false, 0))
		}
	}
}

// A connection to a lobby at a shared listener is handed over, with all bytes that it has sent.
func TestGuestsAreGivenOn(t *testing.T) {
	came := make(chan net.Conn, 1)
	trs, ls := JoinShared(t, 2, func(c net.Conn) { came <- c })
	conn, err := net.Dial("tcp", ls[0].Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	const said = "\x5c\xed\x00\x01, and so on"
	_, err = io.WriteString(conn, said)
	require.NoError(t, err)
	until(t, trs[0], &log{}, func() bool { return len(came) == 1 })
	guest := <-came
	defer guest.Close()
	b := make([]byte, len(said))
	_, err = io.ReadFull(guest, b)
	require.NoError(t, err)
	require.Equal(t, said, string(b))
	for _, tr := range trs {
		require.NoError(t, tr.Close(false, 0))
	}
	_, err = guest.Write([]byte("welcome"))
	require.NoError(t, err, "it outlives the transport")
	l, err := net.Dial("tcp", ls[0].Addr().String())
	require.NoError(t, err, "and the listener does")
	require.NoError(t, l.Close())
}
