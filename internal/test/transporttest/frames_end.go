package transporttest

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// testLeft checks that everything sent before a goodbye arrives.
func testLeft(t *testing.T, with Make) {
	n := connect(t, with, 3)
	n.greet()
	n.sinks[0].holdFrom(0)
	n.put(2, 0, slot(1, pattern(1, 100)))
	n.put(2, 1, control(2, pattern(2, 100)))
	n.poll()
	require.NoError(t, n.ranks[2].Close(true, patience))
	n.until(func() bool { return n.sinks[1].closed() == 1 }, "rank 1 knows")
	require.Len(t, n.sinks[1].got, 1)
	n.quiesce()
	require.Empty(t, n.sinks[0].got)
	n.sinks[0].holdFrom(2)
	n.until(func() bool { return n.sinks[0].closed() == 1 && n.count() == 2 }, "rank 0 knows")
	require.Equal(t, pattern(1, 100), n.sinks[0].got[0].body)
	n.noneLost()
}

// testLeftUnmet checks that everything sent before a goodbye arrives before the goodbye is reported,
// even if the receiver had nothing from the sender before, in any communicator.
func testLeftUnmet(t *testing.T, with Make) {
	const comms = 100
	n := connect(t, with, 2)
	for comm := range uint8(comms) {
		n.put(0, 1, of(comm, slot(1, pattern(int(comm), 1000))))
	}
	done := signal()
	var err error
	go func() { defer close(done); err = n.ranks[0].Close(true, patience) }()
	select {
	case <-done:
	case <-time.After(50 * time.Millisecond): // a transport whose ranks connect only if both poll
	}
	s := n.sinks[1]
	within(t, func() {
		for len(s.ended) == 0 {
			if !n.ranks[1].Poll(s) {
				n.ranks[1].Wait(10 * time.Millisecond)
			}
		}
		<-done
	})
	require.NoError(t, err)
	require.Equal(t, comms, len(s.got))
	n.noneLost()
}

func (n *net) noneLost() {
	n.t.Helper()
	for _, s := range n.sinks {
		require.Zero(n.t, s.lost())
		require.Empty(n.t, s.twice)
	}
}

func testLost(t *testing.T, with Make) {
	n := connect(t, with, 3)
	n.greet()
	require.NoError(t, n.ranks[1].Close(false, 0))
	n.until(func() bool { return n.sinks[0].lost() == 1 && n.sinks[2].lost() == 1 }, "both have noticed")
	n.quiesce()
	for _, rank := range []int{0, 2} {
		require.NotEqual(t, wire.Closed, n.sinks[rank].ended[1])
		require.Zero(t, n.sinks[rank].closed())
		require.Empty(t, n.sinks[rank].twice)
	}
}

// testCloseQueued closes with queued frames while the receiver is slow.
func testCloseQueued(t *testing.T, with Make) {
	const frames = 24
	n := connect(t, with, 2)
	unsent := frames
	for i := range frames {
		f := slot(uint64(i), pattern(i, 1<<20))
		f.Unsent = &unsent
		n.put(0, 1, f)
	}
	done := signal()
	var err error
	go func() { defer close(done); err = n.ranks[0].Close(true, patience) }()
	s := n.sinks[1]
	within(t, func() {
		for len(s.ended) == 0 {
			if !n.ranks[1].Poll(s) {
				n.ranks[1].Wait(10 * time.Millisecond)
			}
		}
		<-done
	})
	require.NoError(t, err)
	require.Zero(t, unsent)
	require.Len(t, s.got, frames)
	for i, got := range s.got {
		require.True(t, string(got.body) == string(pattern(i, 1<<20)))
	}
}

// testCloseAll makes all ranks leave at the same time.
func testCloseAll(t *testing.T, with Make) {
	n := connect(t, with, 4)
	n.greet()
	for from := range 4 {
		n.put(from, (from+1)%4, control(1, pattern(from, 1000)))
	}
	var wg sync.WaitGroup
	for _, tr := range n.ranks {
		wg.Go(func() {
			if err := tr.Close(true, patience); err != nil {
				t.Error(err)
			}
		})
	}
	within(t, wg.Wait)
	for _, tr := range n.ranks {
		require.NoError(t, tr.Close(true, 0), "closing twice")
	}
}

// testGone checks that frames to a rank that has left or is lost are dropped.
func testGone(t *testing.T, with Make) {
	for _, bye := range []bool{true, false} {
		n := connect(t, with, 2)
		n.greet()
		require.NoError(t, n.ranks[1].Close(bye, patience))
		s := n.sinks[0]
		n.until(func() bool { return len(s.ended) == 1 }, "the end is noticed")
		unsent := 2
		for _, f := range []*wire.Frame{slot(2, pattern(1, 10)), control(3, nil)} {
			f.Unsent = &unsent
			n.put(0, 1, f)
		}
		n.until(func() bool { return unsent == 0 }, "frames are dropped")
		n.quiesce()
		require.Empty(t, s.twice)
	}
}

func testAlone(t *testing.T, with Make) {
	n := connect(t, with, 1)
	require.False(t, n.poll())
	unsent := 1
	f := slot(1, []byte("to nobody"))
	f.Unsent = &unsent
	n.ranks[0].Mcast(f)
	n.until(func() bool { return unsent == 0 }, "the multicast is sent")
	require.NoError(t, n.ranks[0].Close(true, patience))
}
