package transporttest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Frames tests how a transport handles single frames, as [wire.Transport] and [wire.Sink] promise
// it.
func Frames(t *testing.T, with Make) {
	for _, test := range slices.Concat(puts, datagrams) {
		t.Run(test.name, func(t *testing.T) { test.run(t, with) })
	}
	if hasWindows(t, with) {
		t.Run("Windows", func(t *testing.T) { windows(t, with) })
	}
	if hasShelves(t, with) {
		t.Run("Shelves", func(t *testing.T) { shelves(t, with) })
	}
	if hasSets(t, with) {
		t.Run("Sets", func(t *testing.T) { windowSets(t, with) })
	}
}

// Datagrams is the part of Frames with multicasts and datagrams. A transport that has passed Frames
// passes it again with another configuration that changes only these. In the stage
// [heavy.Transports] it is Frames.
func Datagrams(t *testing.T, with Make) {
	if heavy.Transports.Runs() {
		Frames(t, with)
		return
	}
	for _, test := range datagrams {
		t.Run(test.name, func(t *testing.T) { test.run(t, with) })
	}
}

// frameTest is a test of single frames.
type frameTest struct {
	name string
	run  func(*testing.T, Make)
}

// puts are the tests of puts, and of the ends of ranks.
var puts = []frameTest{
	{"Order", testOrder},
	{"Large", testLargeBody},
	{"Empty", testEmptyBody},
	{"Hold", testHold},
	{"HeldSender", testHeldSender},
	{"Drop", testDrop},
	{"DropWithinBody", testDropWithinBody},
	{"Unsent", testUnsent},
	{"Abandon", testAbandon},
	{"NoAllocation", testNoAllocation},
	{"Wake", testWake},
	{"WaitTime", testWaitTime},
	{"WaitArrival", testWaitArrival},
	{"HeldWait", testHeldWait},
	{"Left", testLeft},
	{"LeftUnmet", testLeftUnmet},
	{"Lost", testLost},
	{"CloseQueued", testCloseQueued},
	{"CloseAll", testCloseAll},
	{"Gone", testGone},
	{"Alone", testAlone},
}

// datagrams are the tests of frames that may be lost.
var datagrams = []frameTest{
	{"Mcast", testMcast},
	{"McastHold", testMcastHold},
	{"McastNoAllocation", testMcastNoAllocation},
	{"Datagram", testDatagram},
	{"DatagramNoAllocation", testDatagramNoAllocation},
}

// net is a set of connected transports, each with a sink. One goroutine drives it.
type net struct {
	t     testing.TB
	ranks []wire.Transport
	sinks []*sink
}

// connect makes a net. At its end, the test checks that the net leaves nothing behind.
func connect(t testing.TB, with Make, size int) *net {
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	n := &net{t: t, ranks: with(t, size)}
	require.Len(t, n.ranks, size)
	for rank, tr := range n.ranks {
		require.Equal(t, rank, tr.Rank())
		require.Equal(t, size, tr.Size())
		require.Equal(t, n.ranks[0].ID(), tr.ID())
		caps, first := tr.Caps(), n.ranks[0].Caps()
		if caps.Host != nil {
			first.Local = 0
			for _, h := range caps.Host {
				if h == caps.Host[rank] {
					first.Local++
				}
			}
		}
		require.Equal(t, first, caps)
		n.sinks = append(n.sinks, newSink())
	}
	t.Cleanup(func() {
		for _, tr := range n.ranks {
			tr.Close(false, 0)
		}
	})
	return n
}

// poll polls every rank once.
func (n *net) poll() (moved bool) {
	for rank, tr := range n.ranks {
		moved = tr.Poll(n.sinks[rank]) || moved
	}
	return moved
}

// until polls all ranks until cond holds, and fails the test if that takes too long.
func (n *net) until(cond func() bool, what string) {
	n.t.Helper()
	for end := time.Now().Add(patience); !cond(); {
		if !n.poll() {
			n.ranks[0].Wait(time.Millisecond)
		}
		if time.Now().After(end) {
			for rank, s := range n.sinks {
				n.t.Logf("rank %d has %d frames and %+v; ends %q", rank, len(s.got), n.ranks[rank].Stats(), s.ends)
			}
			n.t.Fatalf("after %v not yet: %s", patience, what)
		}
	}
}

// quiesce polls until nothing has moved for a few rounds.
func (n *net) quiesce() { n.settle(func() bool { return false }) }

// settle polls until enough has arrived, or until nothing has moved for a few rounds.
func (n *net) settle(enough func() bool) {
	for quiet := 0; quiet < 20 && !enough(); quiet++ {
		if n.poll() {
			quiet = 0
		}
		n.ranks[0].Wait(time.Millisecond)
	}
}

// put queues a frame at rank from.
func (n *net) put(from, to int, f *wire.Frame) { n.ranks[from].Put(to, f) }

// greet makes every rank exchange a frame with every other on every lane.
func (n *net) greet() {
	size := len(n.ranks)
	for from := range size {
		for to := range size {
			if from != to {
				n.put(from, to, control(0, nil))
				n.put(from, to, slot(0, nil))
			}
		}
	}
	n.until(func() bool { return n.count() == size*(size-1)*2 }, "all ranks have greeted each other")
	for _, s := range n.sinks {
		s.got = nil
	}
}

// count returns the number of frames that have arrived anywhere.
func (n *net) count() (frames int) {
	for _, s := range n.sinks {
		frames += len(s.got)
	}
	return frames
}

// slot returns a frame on LaneOps with a body, which goes to its own buffer.
func slot(seq uint64, body []byte) *wire.Frame {
	return &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Lane: wire.LaneOps, Seq: seq, Len: len(body)}, Body: body}
}

// control returns a frame on LaneControl.
func control(seq uint64, body []byte) *wire.Frame {
	return &wire.Frame{Header: wire.Header{Kind: wire.FramePublish, Lane: wire.LaneControl, Seq: seq, Len: len(body)}, Body: body}
}

// pattern returns n bytes that depend on seed and on their index. Like content, they are not to be
// changed.
func pattern(seed, n int) []byte { return content(uint64(seed), n) }
