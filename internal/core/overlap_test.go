package core

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core/mismatch"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// sum is a fold of bytes.
var sum = &Fold{Element: 1, Kernel: func(dst, a, b []byte) {
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}}

// A rank with two open operations does not put chunks of the second to a rank that is inside the
// first, before it has settled the first.
func TestPutsWaitForEarlierOperations(t *testing.T) {
	net := &kinds{}
	c := New(Config{Rank: 1, Size: 2, Epoch: 1, Repair: 20e6, Stall: 250e6, PublishWindow: 1, Overlay: nowhere{}, Caps: wire.Caps{Multicast: true, Datagram: 8}}, net)
	first := planOf(t, "bcast/mcast-acktree", schedule.Params{Ranks: 2, Chunks: 1}, 1)
	second := planOf(t, "bcast/chain", schedule.Params{Ranks: 2, Root: 1, Chunks: 1}, 1)
	c.Begin(first, InPlace(make([]byte, 8)))
	c.Begin(second, InPlace(make([]byte, 8)))
	require.Equal(t, []string{"call 2"}, net.drain())
	require.False(t, c.Ready(2), "its chunk has not been sent")
	h := wire.Header{Kind: wire.FrameSlot, Lane: wire.LaneOps, Epoch: 1, Seq: 1, Print: first.print(8), Len: 8, Slot: ir.Chunk(0)}
	require.Equal(t, wire.Accept, c.Fragment(&h, 0, make([]byte, 8)))
	require.Equal(t, []string{"s0 1", "c0 2"}, net.drain(), "the acknowledgement goes first")
	require.True(t, c.Ready(1))
	require.True(t, c.Ready(2))
	c.End(2)
	_, ended := c.Seq()
	require.Zero(t, ended, "the first is open")
	c.End(1)
	_, ended = c.Seq()
	require.Equal(t, uint64(2), ended)
}

// Puts of a second operation go at once to a rank that says it has entered the operation.
func TestPutsGoToRanksThatHaveEntered(t *testing.T) {
	net := &kinds{}
	c := New(Config{Rank: 1, Size: 3, Epoch: 1, Repair: 20e6, Stall: 250e6, PublishWindow: 1, Overlay: nowhere{}}, net)
	first := planOf(t, "bcast/linear", schedule.Params{Ranks: 3, Chunks: 1}, 1)
	second := planOf(t, "bcast/linear", schedule.Params{Ranks: 3, Root: 1, Chunks: 1}, 1)
	c.Begin(first, InPlace(make([]byte, 8)))
	c.Begin(second, InPlace(make([]byte, 8)))
	require.Equal(t, []string{"call 2", "call 2"}, net.drain())
	entered := wire.Header{Kind: wire.FrameEntered, Lane: wire.LaneControl, Epoch: 1, Seq: 2, Print: mismatch.Following(first.print(8), second.print(8)), From: 2}
	c.Arrived(&entered, nil)
	require.Equal(t, []string{"c0 2"}, net.drain())
	require.False(t, c.Ready(2), "rank 0 has not got its chunk")
	entered.From = 0
	c.Arrived(&entered, nil)
	require.Equal(t, []string{"c0 2"}, net.drain())
	require.True(t, c.Ready(2))
	require.NoError(t, c.Err())
}

// A rank is asked once whether it has entered: later puts of the operation go to it at once.
func TestLaterPutsNeedNoCall(t *testing.T) {
	net := &kinds{}
	c := New(Config{Rank: 1, Size: 3, Epoch: 1, Repair: 20e6, Stall: 250e6, PublishWindow: 1, Overlay: nowhere{}}, net)
	first := planOf(t, "bcast/linear", schedule.Params{Ranks: 3, Chunks: 1}, 1)
	second := planOf(t, "bcast/chain", schedule.Params{Ranks: 3, Chunks: 2}, 1)
	c.Begin(first, InPlace(make([]byte, 8)))
	c.Begin(second, InPlace(make([]byte, 8)))
	fingerprint := mismatch.Following(first.print(8), second.print(8))
	chunk := wire.Header{Kind: wire.FrameSlot, Lane: wire.LaneOps, Epoch: 1, Seq: 2, Print: fingerprint, Len: 4, Slot: ir.Chunk(0)}
	c.take(chunk)
	require.Equal(t, []string{"call 2"}, net.drain())
	c.Arrived(&wire.Header{Kind: wire.FrameEntered, Lane: wire.LaneControl, Epoch: 1, Seq: 2, Print: fingerprint, From: 2}, nil)
	require.Equal(t, []string{"c0 2"}, net.drain())
	chunk.Slot = ir.Chunk(1)
	c.take(chunk)
	require.Equal(t, []string{"c1 2"}, net.drain())
	require.NoError(t, c.Err())
}

// A rank answers a call when it enters, and finds a mismatch.
func TestCallsAreAnswered(t *testing.T) {
	net := &kinds{}
	c := New(Config{Rank: 0, Size: 2, Epoch: 1, Repair: 20e6, Stall: 250e6, PublishWindow: 1, Overlay: nowhere{}}, net)
	plan := planOf(t, "bcast/linear", schedule.Params{Ranks: 2, Root: 1, Chunks: 1}, 0)
	call := wire.Header{Kind: wire.FrameCall, Lane: wire.LaneControl, Epoch: 1, Seq: 2, Print: printOf(plan, 8, 2), From: 1}
	c.Arrived(&call, nil)
	c.Begin(plan, InPlace(make([]byte, 8)))
	require.Empty(t, net.drain())
	c.Begin(plan, InPlace(make([]byte, 8)))
	require.Equal(t, []string{"entered 2"}, net.drain())
	c.Arrived(&call, nil)
	require.Equal(t, []string{"entered 2"}, net.drain(), "it has entered before")
	require.NoError(t, c.Err())
	call.Seq, call.Print = 3, printOf(plan, 9, 3)
	c.Arrived(&call, nil)
	c.Begin(plan, InPlace(make([]byte, 8)))
	require.Equal(t, []string{"clash 3"}, net.drain())
	requireDispute(t, c)
}

// A rank may be any number of operations ahead, if its puts bring everything. Each of them may have
// waited for an answer until an earlier operation was settled. Only the last ones still wait.
func TestCallsOfARankFarAhead(t *testing.T) {
	const last = 100
	net := &kinds{}
	c := New(Config{Rank: 0, Size: 2, Epoch: 1, Repair: 20e6, Stall: 250e6, PublishWindow: 1, Overlay: nowhere{}}, net)
	plan := planOf(t, "bcast/linear", schedule.Params{Ranks: 2, Chunks: 1}, 0)
	for seq := range uint64(last) {
		c.Arrived(&wire.Header{Kind: wire.FrameCall, Lane: wire.LaneControl, Epoch: 1, Seq: seq + 1, Print: printOf(plan, 8, seq+1), From: 1}, nil)
	}
	require.NoError(t, c.Err())
	var answers []string
	for seq := range uint64(last) {
		c.Begin(plan, InPlace(make([]byte, 8)))
		for _, sent := range net.drain() {
			if sent[0] == 'e' {
				answers = append(answers, sent)
			}
		}
		c.End(seq + 1)
	}
	require.Equal(t, []string{"entered 97", "entered 98", "entered 99", "entered 100"}, answers)
	require.NoError(t, c.Err())
}

// A rank that asks again and again about operations that it may have open breaks the protocol.
func TestTooManyCalls(t *testing.T) {
	c := New(Config{Rank: 0, Size: 2, Epoch: 1, Repair: 20e6, Stall: 250e6, PublishWindow: 1, Overlay: nowhere{}}, &kinds{})
	call := wire.Header{Kind: wire.FrameCall, Lane: wire.LaneControl, Epoch: 1, Seq: 1, From: 1}
	for range 2 * MaxOpen {
		c.Arrived(&call, nil)
	}
	require.NoError(t, c.Err())
	c.Arrived(&call, nil)
	require.ErrorIs(t, c.Err(), ErrProtocol)
}

// kinds records the puts: slots and control frames, with their operations.
type kinds struct {
	discard
	sent []string
}

func (k *kinds) Put(_ int, f *wire.Frame) {
	k.discard.drop(f)
	what := map[wire.FrameKind]string{wire.FrameSlot: f.Slot.String(), wire.FrameCall: "call", wire.FrameEntered: "entered", wire.FrameClash: "clash"}[f.Kind]
	if what != "" {
		k.sent = append(k.sent, fmt.Sprint(what, " ", f.Seq))
	}
}

func (k *kinds) drain() (sent []string) {
	sent, k.sent = k.sent, nil
	return sent
}

// Signals of each of the next operations are remembered, each once, whatever their number. Signals
// further ahead are held.
func TestEarlySignals(t *testing.T) {
	const size = 3000
	c := New(Config{Rank: 0, Size: size, Epoch: 1, Repair: 20e6, Stall: 250e6, PublishWindow: 1, Overlay: nowhere{}}, &kinds{})
	h := wire.Header{Kind: wire.FrameSlot, Lane: wire.LaneOps, Epoch: 1, From: 1, Print: 1}
	for range 2 {
		for h.Seq = 1; h.Seq <= MaxOpen; h.Seq++ {
			for s := range size - 1 {
				h.Slot = ir.Signal(s)
				_, v := c.Body(&h)
				require.Equal(t, map[bool]wire.Verdict{true: wire.Accept, false: wire.Hold}[h.Seq < MaxOpen], v)
				if v == wire.Accept {
					c.Arrived(&h, nil)
				}
			}
		}
	}
	require.Equal(t, ahead*(size-1), c.Usage().Early)
	h.Seq, h.Slot = 1, ir.Signal(maxEarly(size))
	_, v := c.Body(&h)
	require.Equal(t, wire.Hold, v)
	h.Slot, h.Print = ir.Signal(7), 2
	for range 3 {
		c.Arrived(&h, nil)
	}
	require.Equal(t, ahead*(size-1)+1, c.Usage().Early, "of another fingerprint one is enough")
	require.LessOrEqual(t, c.Usage().Early, MaxEarly(size))
	c.Begin(planOf(t, "barrier/hsb", schedule.Params{Ranks: size, FanIn: size - 1}, 0), InPlace(nil))
	requireDispute(t, c)
}

// printOf is the fingerprint of the last of n operations under p.
func printOf(p *Plan, n int, operations uint64) (fingerprint uint32) {
	for range operations {
		fingerprint = mismatch.Following(fingerprint, p.print(n))
	}
	return fingerprint
}

// requireDispute checks that a core has found a mismatch, and fails by it when no rank answers.
func requireDispute(t *testing.T, c *Core) {
	t.Helper()
	require.NoError(t, c.Err())
	require.True(t, c.Timed())
	c.Tick(1)
	for range 10 {
		due, limited := c.Due()
		require.True(t, limited || c.Err() != nil)
		c.Tick(due)
	}
	require.ErrorIs(t, c.Err(), ErrMismatch)
	require.ErrorContains(t, c.Err(), "rank 1 called something else, then or before, and has not said what")
}

// No algorithm has more signals than a rank remembers.
func TestAlgorithmsFitRememberedSignals(t *testing.T) {
	for _, a := range schedule.Algorithms() {
		for _, size := range heavy.Or([]int{1, 2, 7, 300, 1025}, []int{1, 2, 7, 300, 1025, 5000}) {
			spec, err := schedule.New(a.Name, schedule.Params{Ranks: size})
			require.NoError(t, err)
			for _, rank := range []int{0, size / 2, size - 1} {
				require.LessOrEqual(t, spec.Program(rank).Signals, maxEarly(size), "%s, rank %d of %d", a.Name, rank, size)
			}
		}
	}
}

// Multicasts of a second operation wait at their root if both together could overrun receivers,
// which may not have entered it.
func TestLongMulticastsGoOneAfterTheOther(t *testing.T) {
	for _, c := range []struct {
		name           string
		window, chunks int
		want           []int // multicasts after both begins, and after the first is acknowledged
	}{
		{"both fit", 64, 4, []int{4, 4, 0}},
		{"both do not", 40, 4, []int{4, 0, 4}},
		{"neither does", 24, 4, []int{3, 0, 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			net := &mcasts{}
			core := New(Config{Rank: 0, Size: 2, Epoch: 1, Repair: 20e6, Stall: 250e6, PublishWindow: 1, Overlay: nowhere{},
				Caps: wire.Caps{Multicast: true, Direct: true, Datagram: 8, Room: c.window}}, net)
			plan := planOf(t, "bcast/mcast-acktree", schedule.Params{Ranks: 2, Chunks: c.chunks}, 0)
			core.Begin(plan, InPlace(make([]byte, 8*c.chunks)))
			require.Equal(t, c.want[0], net.drain())
			core.Begin(plan, InPlace(make([]byte, 8*c.chunks)))
			require.Equal(t, c.want[1], net.drain())
			h := wire.Header{Lane: wire.LaneControl, Epoch: 1, Seq: 1, Print: plan.print(8 * c.chunks), From: 1}
			h.Kind, h.Arg = wire.FrameTaken, uint32(c.chunks)
			core.Arrived(&h, nil)
			sent := net.drain() // the rest of the first, if it has a window, and the start of the second
			h.Kind, h.Lane, h.Slot = wire.FrameSlot, wire.LaneOps, ir.Signal(0)
			core.Arrived(&h, nil)
			require.True(t, core.Ready(1))
			core.End(1)
			require.Equal(t, c.want[2], sent+net.drain())
			require.False(t, core.Ready(2))
			require.NoError(t, core.Err())
		})
	}
}

// mcasts counts multicasts.
type mcasts struct {
	discard
	n int
}

func (m *mcasts) Mcast(f *wire.Frame) {
	m.discard.drop(f)
	m.n++
}

func (m *mcasts) drain() (n int) {
	n, m.n = m.n, 0
	return n
}

// An operation that has ended before an earlier one answers requests at once, since a rank that
// asks has entered it.
func TestEndedOperationsAnswerAtOnce(t *testing.T) {
	net := &kinds{}
	c := New(Config{Rank: 3, Size: 4, Epoch: 1, Repair: 20e6, Stall: 250e6, Retain: 1 << 20, PublishWindow: 1, Overlay: nowhere{}, Caps: wire.Caps{Multicast: true, Datagram: 8}}, net)
	plan := planOf(t, "bcast/mcast-acktree", schedule.Params{Ranks: 4, Chunks: 1}, 3)
	c.Begin(plan, InPlace(make([]byte, 8)))
	c.Begin(plan, InPlace(make([]byte, 8)))
	h := wire.Header{Kind: wire.FrameSlot, Lane: wire.LaneOps, Epoch: 1, Seq: 2, Print: printOf(plan, 8, 2), Len: 8, Slot: ir.Chunk(0)}
	require.Equal(t, wire.Accept, c.Fragment(&h, 0, make([]byte, 8)))
	require.Equal(t, []string{"s0 2"}, net.drain())
	c.End(2)
	h.Slot, h.Len, h.From = ir.Signal(0), 0, 2
	c.Arrived(&h, nil)
	require.Equal(t, []string{"c0 2"}, net.drain())
	require.True(t, c.Vacant())
	require.Zero(t, c.ops.lookup(2).unsent)
}
