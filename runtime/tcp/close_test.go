package tcp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
)

// journal notes what a transport tells.
type journal struct {
	frames, left int
	lost         error
}

func (*journal) Body(*runtime.Header) ([]byte, runtime.Verdict)        { return nil, runtime.Accept }
func (j *journal) Arrived(*runtime.Header, []byte)                     { j.frames++ }
func (*journal) Fragment(*runtime.Header, int, []byte) runtime.Verdict { return runtime.Drop }
func (j *journal) Left(int, uint64)                                    { j.left++ }
func (j *journal) Lost(_ int, err error)                               { j.lost = err }

// A rank may close while it still connects for what it has put last: its
// other connections must not end before.
func TestCloseWhileConnecting(t *testing.T) {
	trs := joinAll(t, 2)
	a, b := trs[0], trs[1]
	var j journal
	until := func(cond func() bool, limit time.Duration) bool {
		for end := time.Now().Add(limit); !cond(); b.Wait(time.Millisecond) {
			if j.lost != nil || time.Now().After(end) {
				return false
			}
			b.Poll(&j)
		}
		return true
	}
	put := func(lane runtime.Lane, kind runtime.FrameKind) {
		a.Put(1, &runtime.Frame{Header: runtime.Header{Kind: kind, Lane: lane}})
	}
	put(runtime.LaneOps, runtime.FrameSlot)
	require.True(t, until(func() bool { a.Poll(&journal{}); return j.frames == 1 }, patience))

	connect := a.SlowDial(1, runtime.LaneControl)
	put(runtime.LaneControl, runtime.FrameLeave)
	closed := make(chan error, 1)
	go func() { closed <- a.Close(1, true, patience) }()
	until(func() bool { return j.left > 0 }, 20*time.Millisecond) // it does not, but might
	connect()
	require.True(t, until(func() bool { return j.left > 0 }, patience))
	require.Equal(t, 2, j.frames, "the last put has come before")
	require.NoError(t, j.lost)
	require.NoError(t, <-closed)
	require.NoError(t, b.Close(1, true, 0))
}

// A rank that connects to one that is just leaving learns that it has left,
// whether its connection is still taken or not.
func TestConnectingToWhoLeaves(t *testing.T) {
	slot := &runtime.Frame{Header: runtime.Header{Kind: runtime.FrameSlot}}
	for _, name := range []string{"taken", "not taken", "not taken, and written to"} {
		t.Run(name, func(t *testing.T) {
			taken := name == "taken"
			trs := joinAll(t, 2)
			a, b := trs[0], trs[1]
			var j journal
			b.Part(7)
			a.Put(1, slot)
			for end := time.Now().Add(patience); !a.Connected(1, runtime.LaneOps); a.Wait(time.Millisecond) {
				require.True(t, time.Now().Before(end))
				a.Poll(&j)
			}
			if !taken {
				require.NoError(t, b.Close(0, false, 0))
			}
			if strings.HasSuffix(name, "written to") {
				a.Put(1, slot)
			}
			for end := time.Now().Add(patience); j.left == 0 && j.lost == nil; a.Wait(time.Millisecond) {
				require.True(t, time.Now().Before(end))
				if taken {
					b.Serve()
				}
				a.Poll(&j)
			}
			if taken {
				require.NoError(t, j.lost)
				require.NoError(t, b.Close(0, false, 0))
			} else {
				require.ErrorIs(t, j.lost, runtime.ErrUnreachable)
			}
			require.NoError(t, a.Close(0, false, 0))
		})
	}
}
