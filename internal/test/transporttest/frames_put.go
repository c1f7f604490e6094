package transporttest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// frame returns the i-th of a series of frames that differ in all fields.
func frame(from, to, i int, lane wire.Lane) *wire.Frame {
	f := &wire.Frame{Header: wire.Header{
		Kind: wire.FrameSlot, Lane: lane, Epoch: uint32(from), Seq: 1<<40 + uint64(i),
		Slot: ir.Chunk(i), Arg: uint32(to), Print: 0xFFFFFFFF - uint32(i),
	}}
	if lane == wire.LaneControl {
		f.Kind = wire.FramePublish
	}
	f.Body = pattern(i+1000*from, i*i*7%40000)
	f.Len = len(f.Body)
	return f
}

func testOrder(t *testing.T, with Make) {
	const size, frames = 3, 200
	n := connect(t, with, size)
	for i := range frames {
		for from := range size {
			for to := range size {
				if from != to {
					n.put(from, to, frame(from, to, i, wire.LaneOps))
					n.put(from, to, frame(from, to, i, wire.LaneControl))
				}
			}
		}
	}
	n.until(func() bool { return n.count() == frames*size*(size-1)*2 }, "all frames have arrived")
	for to, s := range n.sinks {
		require.Empty(t, s.twice)
		for from := range size {
			if from != to {
				checkOrder(t, s, from, to, frames)
			}
		}
	}
}

func checkOrder(t *testing.T, s *sink, from, to, frames int) {
	for lane := range wire.Lanes {
		list := s.from(from, lane)
		require.Len(t, list, frames)
		for i, got := range list {
			want := frame(from, to, i, lane)
			want.From = from
			require.Equal(t, want.Header, got.Header)
			require.Equal(t, want.Body, got.body)
		}
	}
}

func testLargeBody(t *testing.T, with Make) {
	n := connect(t, with, 2)
	body, unsent := pattern(1, 24<<20+3), 2
	big := slot(1, body)
	big.Unsent = &unsent
	n.put(0, 1, big)
	small := slot(2, []byte("behind it"))
	small.Unsent = &unsent
	n.put(0, 1, small)
	n.until(func() bool { return n.count() == 2 && unsent == 0 }, "both frames have arrived")
	got := n.sinks[1].got
	require.True(t, string(got[0].body) == string(body), "the large body has changed")
	require.Equal(t, "behind it", string(got[1].body))
}

func testEmptyBody(t *testing.T, with Make) {
	n := connect(t, with, 2)
	unsent := 3
	for i := range 3 {
		f := slot(uint64(i), nil)
		f.Unsent = &unsent
		n.put(1, 0, f)
	}
	n.until(func() bool { return n.count() == 3 && unsent == 0 }, "empty frames have arrived")
	for i, got := range n.sinks[0].got {
		require.Equal(t, uint64(i), got.Seq)
		require.Zero(t, got.Len)
		require.Empty(t, got.body)
	}
}

// holdFrom makes s hold operations from number seq on.
func (s *sink) holdFrom(seq uint64) {
	s.verdict = func(h *wire.Header) wire.Verdict {
		if h.Lane == wire.LaneOps && h.Seq >= seq {
			return wire.Hold
		}
		return wire.Accept
	}
}

func testHold(t *testing.T, with Make) {
	n := connect(t, with, 3)
	s := n.sinks[2]
	s.holdFrom(1)
	for i := range 5 {
		n.put(0, 2, slot(uint64(i), pattern(i, 100)))
		n.put(1, 2, slot(0, nil))
		n.put(0, 2, control(uint64(i), pattern(i, 10)))
	}
	n.until(func() bool { return len(s.got) == 1+5+5 }, "what is not held has arrived")
	n.quiesce()
	require.Len(t, s.from(0, wire.LaneOps), 1)
	require.Len(t, s.from(1, wire.LaneOps), 5)

	s.holdFrom(3)
	n.until(func() bool { return len(s.got) == 13 }, "two more have arrived")
	n.quiesce()
	require.Len(t, s.got, 13)
	s.holdFrom(1 << 60)
	n.until(func() bool { return len(s.got) == 15 }, "all have arrived")
	for i, got := range s.from(0, wire.LaneOps) {
		require.Equal(t, uint64(i), got.Seq)
		require.Equal(t, pattern(i, 100), got.body)
	}
}

// testHeldSender checks that a receiver that holds frames stops the sender too, instead of
// buffering without limit.
func testHeldSender(t *testing.T, with Make) {
	const frames, bytes = 128, 256 << 10
	n := connect(t, with, 2)
	n.sinks[1].holdFrom(0)
	unsent, body := frames, pattern(5, bytes)
	for i := range frames {
		f := slot(uint64(i), body)
		f.Unsent = &unsent
		n.put(0, 1, f)
	}
	n.quiesce()
	require.NotZero(t, unsent)
	require.Zero(t, n.count())

	n.sinks[1].holdFrom(frames)
	n.until(func() bool { return n.count() == frames && unsent == 0 }, "all have arrived")
	for i, got := range n.sinks[1].got {
		require.Equal(t, uint64(i), got.Seq)
		require.True(t, string(got.body) == string(body))
	}
}

func testDrop(t *testing.T, with Make) {
	n := connect(t, with, 2)
	s := n.sinks[1]
	s.verdict = func(h *wire.Header) wire.Verdict {
		if h.Seq%2 == 1 {
			return wire.Drop
		}
		return wire.Accept
	}
	unsent := 10
	for i := range 10 {
		f := slot(uint64(i), pattern(i, i*50_000))
		f.Unsent = &unsent
		n.put(0, 1, f)
	}
	n.until(func() bool { return len(s.got) == 5 && unsent == 0 }, "the even ones have arrived")
	for i, got := range s.got {
		require.Equal(t, uint64(2*i), got.Seq)
		require.True(t, string(got.body) == string(pattern(2*i, 2*i*50_000)))
	}
}

// testDropWithinBody drops a frame after a part of its body has been read.
func testDropWithinBody(t *testing.T, with Make) {
	n := connect(t, with, 2)
	s := n.sinks[1]
	asked, dst, kept := 0, []byte(nil), []byte(nil)
	s.verdict = func(h *wire.Header) wire.Verdict {
		if h.Seq != 1 {
			return wire.Accept
		}
		if asked++; asked == 2 {
			dst = s.open[way{0, wire.LaneOps, 0}]
			kept = append(kept, dst...)
			delete(s.open, way{0, wire.LaneOps, 0})
		}
		if asked >= 2 {
			return wire.Drop
		}
		return wire.Accept
	}
	n.put(0, 1, slot(1, pattern(1, 16<<20)))
	n.put(0, 1, slot(2, pattern(2, 1000)))
	last := func() bool { return len(s.got) > 0 && s.got[len(s.got)-1].Seq == 2 }
	n.until(last, "the next frame has arrived")
	require.Equal(t, pattern(2, 1000), s.got[len(s.got)-1].body)
	if asked >= 2 {
		require.Len(t, s.got, 1, "a dropped frame has arrived")
		require.True(t, string(dst) == string(kept), "something was written after the drop")
	}
}

// testUnsent checks that a body may be changed as soon as it is no longer referred to.
func testUnsent(t *testing.T, with Make) {
	n := connect(t, with, 2)
	body := bytes.Clone(pattern(0, 3000))
	for i := range 300 {
		unsent := 1
		f := slot(uint64(i), body)
		f.Unsent = &unsent
		n.put(0, 1, f)
		f.Body, f.Seq = nil, 0 // the frame belongs to the caller at once
		n.until(func() bool { return unsent == 0 }, "the frame is sent")
		copy(body, pattern(i+1, len(body)))
	}
	n.until(func() bool { return n.count() == 300 }, "all have arrived")
	for i, got := range n.sinks[1].got {
		require.Equal(t, pattern(i, len(body)), got.body)
	}
	require.Equal(t, uint64(300), n.ranks[0].Stats().PutFrames)
	require.Equal(t, uint64(300*3000), n.ranks[0].Stats().PutBytes)
	require.Equal(t, uint64(300), n.ranks[1].Stats().GotFrames)
	require.Equal(t, uint64(300*3000), n.ranks[1].Stats().GotBytes)
}

// testAbandon checks that no body is referred to after Abandon, and that the other lane is not
// affected.
func testAbandon(t *testing.T, with Make) {
	n := connect(t, with, 2)
	n.greet()
	n.sinks[1].holdFrom(0)
	unsent := 40
	for i := range unsent {
		f := slot(uint64(i), pattern(i, 1<<20))
		f.Unsent = &unsent
		n.put(0, 1, f)
	}
	n.quiesce()
	n.ranks[0].Abandon(0)
	require.Zero(t, unsent)
	n.put(0, 1, control(7, []byte("still here")))
	arrived := func() bool { return len(n.sinks[1].from(0, wire.LaneControl)) == 1 || n.sinks[1].lost() == 1 }
	n.until(arrived, "the other lane works, or the peer has noticed a cut connection")
}

func testNoAllocation(t *testing.T, with Make) {
	n := connect(t, with, 2)
	n.greet()
	into, back := buffer(1000), buffer(1000)
	for rank, buf := range [][]byte{into, back} {
		s := n.sinks[rank]
		s.buffer = func(*wire.Header) []byte { return buf }
	}
	ping, pong := slot(1, pattern(3, 1000)), slot(2, pattern(4, 1000))
	var spare [16]received // so that recording does not allocate
	n.sinks[0].got = append(n.sinks[0].got, spare[:]...)
	n.sinks[1].got = append(n.sinks[1].got, spare[:]...)
	round := func() {
		n.sinks[0].got, n.sinks[1].got = n.sinks[0].got[:0], n.sinks[1].got[:0]
		n.ranks[0].Put(1, ping)
		for len(n.sinks[1].got) == 0 {
			n.poll()
		}
		n.ranks[1].Put(0, pong)
		for len(n.sinks[0].got) == 0 {
			n.poll()
		}
	}
	for range 100 {
		round()
	}
	require.Zero(t, testing.AllocsPerRun(500, round))
	require.Equal(t, ping.Body, back)
	require.Equal(t, pong.Body, into)
}
