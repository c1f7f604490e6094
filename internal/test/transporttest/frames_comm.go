package transporttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Communicators tests what several communicators on one transport may expect: if one of them holds,
// abandons or ends frames, the others are not affected.
func Communicators(t *testing.T, with Make) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Make)
	}{
		{"Order", testCommOrder},
		{"Hold", testCommHold},
		{"All", testCommAll},
		{"Mcast", testCommMcast},
		{"McastAbandon", testCommMcastAbandon},
		{"Abandon", testCommAbandon},
		{"Cut", testCommCut},
		{"Forget", testCommForget},
		{"ForgetHeld", testCommForgetHeld},
		{"Left", testCommLeft},
		{"Lost", testCommLost},
		{"NoAllocation", testCommNoAllocation},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, with) })
	}
}

// of makes f a frame of a communicator.
func of(comm uint8, f *wire.Frame) *wire.Frame {
	f.Comm = comm
	return f
}

// holdComm makes s hold the operations of a communicator, and nothing else.
func (s *sink) holdComm(comm uint8) {
	s.verdict = func(h *wire.Header) wire.Verdict {
		if h.Comm == comm && h.Lane == wire.LaneOps {
			return wire.Hold
		}
		return wire.Accept
	}
}

func (s *sink) holdNothing() { s.verdict = func(*wire.Header) wire.Verdict { return wire.Accept } }

// ofComm returns the arrivals of a communicator on a lane, in order.
func (s *sink) ofComm(comm uint8, lane wire.Lane) (list []received) {
	for _, r := range s.got {
		if r.Comm == comm && r.Lane == lane {
			list = append(list, r)
		}
	}
	return list
}

// requireSeqs checks that frames have the numbers from first on, and the bodies that pattern makes
// for them.
func requireSeqs(t *testing.T, list []received, first, n, bytes int) {
	t.Helper()
	require.Len(t, list, n)
	for i, got := range list {
		require.Equal(t, uint64(first+i), got.Seq)
		require.True(t, string(pattern(first+i, bytes)) == string(got.body), "the body of %d has changed", first+i)
	}
}

func testCommOrder(t *testing.T, with Make) {
	const size, frames = 3, 100
	comms := []uint8{0, 1, 7, 255}
	n := connect(t, with, size)
	for i := range frames {
		for _, comm := range comms {
			for from := range size {
				to := (from + 1) % size
				n.put(from, to, of(comm, frame(from, to, i, wire.LaneOps)))
				n.put(from, to, of(comm, frame(from, to, i, wire.LaneControl)))
			}
		}
	}
	n.until(func() bool { return n.count() == frames*size*len(comms)*2 }, "all frames have arrived")
	for to, s := range n.sinks {
		from := (to + size - 1) % size
		for _, comm := range comms {
			for lane := range wire.Lanes {
				list := s.ofComm(comm, lane)
				require.Len(t, list, frames)
				for i, got := range list {
					want := of(comm, frame(from, to, i, lane))
					want.From = from
					require.Equal(t, want.Header, got.Header)
					require.Equal(t, want.Body, got.body)
				}
			}
		}
	}
	n.noneLost()
}

// testCommHold holds more frames of one communicator than any queue takes.
func testCommHold(t *testing.T, with Make) {
	const frames, bytes = 100, 256 << 10
	n := connect(t, with, 2)
	s := n.sinks[1]
	for _, held := range []uint8{0, 1, 2} {
		s.got = nil
		s.holdComm(held)
		for i := range frames {
			n.put(0, 1, of(held, slot(uint64(i), pattern(i, bytes))))
		}
		n.quiesce()
		for i := range frames {
			for comm := range uint8(3) {
				if comm != held {
					n.put(0, 1, of(comm, slot(uint64(i), pattern(i, 1000))))
				}
				n.put(0, 1, of(comm, control(uint64(i), pattern(i, 10))))
			}
		}
		n.until(func() bool { return len(s.got) == 5*frames }, "all that is not held has arrived")
		require.Empty(t, s.ofComm(held, wire.LaneOps))
		s.holdNothing()
		n.until(func() bool { return len(s.got) == 6*frames }, "what was held has arrived")
		for comm := range uint8(3) {
			requireSeqs(t, s.ofComm(comm, wire.LaneControl), 0, frames, 10)
		}
		requireSeqs(t, s.ofComm(held, wire.LaneOps), 0, frames, bytes)
		requireSeqs(t, s.ofComm((held+1)%3, wire.LaneOps), 0, frames, 1000)
	}
	n.noneLost()
}

// testCommAll uses all numbers at once, and holds every second one.
func testCommAll(t *testing.T, with Make) {
	n := connect(t, with, 2)
	s := n.sinks[1]
	s.verdict = func(h *wire.Header) wire.Verdict {
		if h.Comm%2 == 1 {
			return wire.Hold
		}
		return wire.Accept
	}
	for comm := range 256 {
		n.put(0, 1, of(uint8(comm), slot(0, pattern(comm, 100))))
	}
	n.until(func() bool { return len(s.got) == 128 }, "half of them have arrived")
	s.holdNothing()
	n.until(func() bool { return len(s.got) == 256 }, "the others have arrived")
	for comm := range 256 {
		require.Equal(t, pattern(comm, 100), s.ofComm(uint8(comm), wire.LaneOps)[0].body)
	}
	n.noneLost()
}

// testCommMcast holds the multicasts of one communicator until their buffers are full. Multicasts
// of another communicator still arrive, though some may be lost.
func testCommMcast(t *testing.T, with Make) {
	n := connect(t, with, 2)
	multicastOnly(t, n)
	got := 0
	n.sinks[1].fragment = func(h *wire.Header, _ int, payload []byte) wire.Verdict {
		if h.Comm == 1 {
			return wire.Hold
		}
		require.Equal(t, uint8(2), h.Comm)
		require.Equal(t, pattern(int(h.Seq), 100), payload)
		got++
		return wire.Accept
	}
	held := pattern(1, 1000)
	for range 3000 {
		n.ranks[0].Mcast(of(1, slot(1, held)))
		n.poll()
	}
	seq := 0
	n.until(func() bool {
		n.ranks[0].Mcast(of(2, slot(uint64(seq), pattern(seq, 100))))
		seq++
		return got >= 20
	}, "multicasts of the other communicator have arrived")
	n.ranks[1].Forget(1)
	n.noneLost()
}

func testCommMcastAbandon(t *testing.T, with Make) {
	n := connect(t, with, 2)
	multicastOnly(t, n)
	size := 1 << 20
	if Brief() {
		size = 1 << 18
	}
	unsent, body := [2]int{50, 50}, pattern(0, size)
	for i := range 50 {
		for comm := range unsent {
			f := of(uint8(comm), slot(uint64(i), body))
			f.Unsent = &unsent[comm]
			n.ranks[0].Mcast(f)
		}
	}
	left := unsent[0]
	n.ranks[0].Abandon(1)
	require.Zero(t, unsent[1])
	require.Equal(t, left, unsent[0])
	n.until(func() bool { return unsent[0] == 0 }, "the other's are sent")
}

// testCommAbandon abandons the queued frames of one communicator while its receiver holds frames.
func testCommAbandon(t *testing.T, with Make) {
	const frames, bytes = 30, 1 << 20
	n := connect(t, with, 2)
	s := n.sinks[1]
	s.verdict = func(h *wire.Header) wire.Verdict {
		if h.Lane == wire.LaneOps {
			return wire.Hold
		}
		return wire.Accept
	}
	unsent := [3]int{frames, frames, frames}
	for i := range frames {
		for comm := range unsent {
			f := of(uint8(comm), slot(uint64(i), pattern(i, bytes)))
			f.Unsent = &unsent[comm]
			n.put(0, 1, f)
		}
	}
	n.quiesce()
	left := unsent
	require.NotZero(t, left[1])
	n.ranks[0].Abandon(1)
	require.Equal(t, [3]int{left[0], 0, left[2]}, unsent)

	last := of(1, slot(frames, pattern(frames, bytes)))
	last.Epoch = 1
	n.put(0, 1, last)
	n.put(0, 1, of(1, control(7, []byte("still here"))))
	s.holdNothing()
	n.until(func() bool {
		list := s.ofComm(1, wire.LaneOps)
		return len(list) > 0 && list[len(list)-1].Epoch == 1 && len(s.ofComm(0, wire.LaneOps))+len(s.ofComm(2, wire.LaneOps)) == 2*frames &&
			len(s.ofComm(1, wire.LaneControl)) > 0
	}, "the others' frames have arrived, and what came later")
	requireSeqs(t, s.ofComm(0, wire.LaneOps), 0, frames, bytes)
	requireSeqs(t, s.ofComm(2, wire.LaneOps), 0, frames, bytes)
	require.Len(t, s.ofComm(1, wire.LaneControl), 1)
	list := s.ofComm(1, wire.LaneOps)
	requireSeqs(t, list[:len(list)-1], 0, len(list)-1, bytes)
	requireSeqs(t, list[len(list)-1:], frames, 1, bytes)
	n.noneLost()
}

// testCommCut abandons a frame after its receiver has taken a part.
func testCommCut(t *testing.T, with Make) {
	const bytes = 24<<20 + 5
	n := connect(t, with, 2)
	s, body := n.sinks[1], pattern(1, bytes)
	for round := range 3 {
		s.got = nil
		unsent := 1
		f := of(1, slot(1, body))
		f.Unsent = &unsent
		n.put(0, 1, f)
		key := way{0, wire.LaneOps, 1}
		n.until(func() bool { return s.open[key] != nil || len(s.got) > 0 }, "it has begun to arrive, or has done so at once")
		for range round {
			n.poll()
		}
		whole := unsent == 0 || len(s.got) > 0
		n.ranks[0].Abandon(1)
		require.Zero(t, unsent)
		n.put(0, 1, of(1, slot(2, pattern(2, 1000))))
		n.put(0, 1, of(0, slot(3, pattern(3, 1000))))
		done := func() bool {
			two, three := s.ofComm(1, wire.LaneOps), s.ofComm(0, wire.LaneOps)
			return len(two) > 0 && two[len(two)-1].Seq == 2 && len(three) == 1
		}
		n.until(done, "what was put later has arrived")
		if !whole {
			requireSeqs(t, s.ofComm(1, wire.LaneOps), 2, 1, 1000)
		}
		requireSeqs(t, s.ofComm(0, wire.LaneOps), 3, 1, 1000)
	}
	n.noneLost()
}

// testCommForget uses a number again and again.
func testCommForget(t *testing.T, with Make) {
	const rounds = 300
	n := connect(t, with, 2)
	s := n.sinks[1]
	for i := range rounds {
		for to := range 2 {
			f := of(3, slot(uint64(i), pattern(i, 500)))
			f.Epoch = uint32(i)
			n.put(1-to, to, f)
		}
		if i%3 > 0 {
			n.poll()
		}
		n.ranks[0].Forget(3)
		if i%2 == 0 {
			n.ranks[1].Forget(3)
		}
		if i%5 == 0 {
			n.until(func() bool { return len(s.got) == i+1 }, "all of so far has arrived")
		}
	}
	n.until(func() bool { return n.count() == 2*rounds }, "all has arrived")
	for _, s := range n.sinks {
		requireSeqs(t, s.ofComm(3, wire.LaneOps), 0, rounds, 500)
	}
	n.noneLost()
}

// testCommForgetHeld uses a number again while earlier puts are held.
func testCommForgetHeld(t *testing.T, with Make) {
	const frames, bytes = 20, 256 << 10
	n := connect(t, with, 2)
	s := n.sinks[1]
	s.holdComm(3)
	for round := range 3 {
		for i := range frames {
			n.put(0, 1, of(3, slot(uint64(round*frames+i), pattern(round*frames+i, bytes>>(10*round)))))
		}
		n.quiesce()
		n.ranks[0].Forget(3)
	}
	n.quiesce()
	require.Empty(t, s.got)
	s.holdNothing()
	n.until(func() bool { return len(s.got) == 3*frames }, "all has arrived")
	for round := range 3 {
		requireSeqs(t, s.got[round*frames:][:frames], round*frames, frames, bytes>>(10*round))
	}
	n.noneLost()
}

// testCommLeft checks that a goodbye waits for earlier puts in communicators that are closed.
func testCommLeft(t *testing.T, with Make) {
	n := connect(t, with, 2)
	s := n.sinks[1]
	s.holdComm(2)
	n.put(0, 1, of(2, slot(1, pattern(1, 1000))))
	n.put(0, 1, of(1, slot(2, nil)))
	n.until(func() bool { return len(s.got) == 1 }, "the other's has arrived")
	n.quiesce()
	n.ranks[0].Forget(2)
	n.quiesce()
	require.NoError(t, n.ranks[0].Close(true, patience))
	n.quiesce()
	require.Zero(t, s.closed())
	s.holdNothing()
	n.until(func() bool { return s.closed() == 1 }, "its end is known")
	requireSeqs(t, s.ofComm(2, wire.LaneOps), 1, 1, 1000)
	n.noneLost()
}

// testCommLost checks that the loss of a rank is reported once, whichever communicators it had, and
// that the queued frames of all of them are dropped.
func testCommLost(t *testing.T, with Make) {
	n := connect(t, with, 3)
	n.sinks[1].verdict = func(*wire.Header) wire.Verdict { return wire.Hold }
	unsent := 0
	for comm := range uint8(4) {
		for i := range 40 {
			f := of(comm, slot(uint64(i), pattern(i, 1<<20)))
			unsent++
			f.Unsent = &unsent
			n.put(0, 1, f)
		}
		n.put(1, 0, of(comm, slot(1, nil)))
		n.put(1, 2, of(comm, slot(1, nil)))
	}
	n.until(func() bool { return len(n.sinks[0].got) == 4 && len(n.sinks[2].got) == 4 }, "rank 1 is heard")
	require.NoError(t, n.ranks[1].Close(false, 0))
	n.until(func() bool { return n.sinks[0].lost() == 1 && n.sinks[2].lost() == 1 && unsent == 0 }, "both have noticed")
	n.quiesce()
	for _, rank := range []int{0, 2} {
		require.Zero(t, n.sinks[rank].closed())
		require.Empty(t, n.sinks[rank].twice)
	}
}

// testCommNoAllocation checks that a frame of a further communicator allocates nothing.
func testCommNoAllocation(t *testing.T, with Make) {
	n := connect(t, with, 2)
	into := buffer(1000)
	s := n.sinks[1]
	s.buffer = func(*wire.Header) []byte { return into }
	f := of(9, slot(1, pattern(3, 1000)))
	var spare [16]received // so that recording does not allocate
	s.got = append(s.got, spare[:]...)
	round := func() {
		s.got = s.got[:0]
		n.ranks[0].Put(1, f)
		for len(s.got) == 0 {
			n.poll()
		}
	}
	for range 100 {
		round()
	}
	require.Zero(t, testing.AllocsPerRun(500, round))
	require.Equal(t, f.Body, into)
}
