//go:build linux

package hybrid

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

// A rank that waits gets one byte into its pipe; a rank that polls gets none.
func TestKicksOnlyRanksThatAreAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	trs := make([]*Transport, 3)
	var wg sync.WaitGroup
	for rank := range trs {
		cfg := Config{TCP: tcp.Config{Rank: rank, Size: 3, Coordinator: l.Addr().String()}, Host: "aab"[rank : rank+1]}
		if rank == 0 {
			cfg.TCP.Listener = l
		}
		wg.Go(func() {
			var err error
			if trs[rank], err = Join(t.Context(), cfg); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.False(t, t.Failed())
	for _, tr := range trs {
		defer tr.Close(false, 0)
	}
	put := func() {
		trs[0].Put(1, &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Lane: wire.LaneOps}})
	}
	written := func() int {
		n, err := unix.Read(trs[1].self.bell[0], trs[1].self.buf[:])
		if err != nil {
			require.ErrorIs(t, err, unix.EAGAIN)
		}
		return max(n, 0)
	}
	put()
	require.Zero(t, written())
	near := trs[1].near
	away := false
	for range 3 { // the frame that was put without a byte is there
		near.Poll(&drops)
		if _, away = near.Away(-1); away {
			break
		}
	}
	require.True(t, away)
	put()
	put()
	require.Equal(t, 1, written())
	near.Back()
}

var drops ignore

// ignore is a sink that drops everything.
type ignore struct{}

func (*ignore) Body(*wire.Header) ([]byte, wire.Verdict) { return nil, wire.Drop }
func (*ignore) Arrived(*wire.Header, []byte)             {}
func (*ignore) Fragment(*wire.Header, int, []byte) wire.Verdict {
	return wire.Drop
}
func (*ignore) Ended(int, wire.End, error) {}
