package transporttest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// groupSizes are numbers of ranks: few, and more than one look takes in.
var groupSizes = []int{3, 8, 11}

// connectGroup makes a net whose transports put to several ranks at once.
func connectGroup(t *testing.T, with Make, size int) *net {
	n := connect(t, with, size)
	if _, ok := n.ranks[0].(wire.GroupPutter); !ok {
		t.Skip("no puts to several ranks at once")
	}
	return n
}

// putAll has rank from put f to all of ranks.
func (n *net) putAll(from int, ranks []int, f *wire.Frame) {
	n.ranks[from].(wire.GroupPutter).PutAll(ranks, f)
}

// others returns the ranks below size that are not from and for which keep holds.
func others(from, size int, keep func(rank int) bool) (ranks []int) {
	for rank := range size {
		if rank != from && keep(rank) {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

func everyone(int) bool { return true }

// notice returns the i-th of a series of signals that differ in everything.
func notice(from, i int) *wire.Frame {
	return &wire.Frame{Header: wire.Header{
		Kind: wire.FrameSlot, Lane: wire.LaneOps, Epoch: uint32(from), Seq: 1<<40 + uint64(i),
		Slot: ir.Signal(i), Arg: uint32(i * i), Print: 0xFFFFFFFF - uint32(i),
	}}
}

// testPutAll has every rank put to changing sets of ranks, and now and then to
// one: each gets what it is for, once and as it was.
func testPutAll(t *testing.T, with Make) {
	const frames = 200
	for _, size := range groupSizes {
		t.Run(fmt.Sprint("ranks=", size), func(t *testing.T) {
			n := connectGroup(t, with, size)
			want, sent, unsent := map[wire.Header]int{}, 0, 0
			for i := range frames {
				from := i % size
				ranks := others(from, size, func(rank int) bool { return i%7 == 0 || (i/size+rank)%3 > 0 })
				f := notice(from, i)
				f.Unsent = &unsent
				unsent += len(ranks)
				n.putAll(from, ranks, f)
				f.Header.From = from
				want[f.Header] = len(ranks)
				sent += len(ranks)
				f.Header, ranks[0] = wire.Header{}, -1 // both are the caller's again at once
				if i%5 == 0 {
					n.poll()
				}
			}
			n.until(func() bool { return n.count() == sent && unsent == 0 }, "all frames have arrived")
			n.quiesce()
			require.Equal(t, sent, n.count())
			for rank, s := range n.sinks {
				seen := map[uint64]bool{}
				for _, got := range s.got {
					require.False(t, seen[got.Seq], "rank %d got a frame twice", rank)
					require.NotEqual(t, rank, got.From)
					require.Empty(t, got.body)
					seen[got.Seq] = true
					want[got.Header]--
				}
				require.Empty(t, s.twice)
			}
			for head, missing := range want {
				require.Zero(t, missing, "%+v", head)
			}
		})
	}
}

// testPutAllHold checks that a rank that is far behind loses nothing, and keeps
// nobody from what is for it.
func testPutAllHold(t *testing.T, with Make) {
	const frames = 150
	for _, size := range groupSizes {
		t.Run(fmt.Sprint("ranks=", size), func(t *testing.T) {
			n := connectGroup(t, with, size)
			n.sinks[1].holdFrom(1<<40 + 2)
			n.sinks[2].verdict = func(h *wire.Header) wire.Verdict {
				if h.Seq%2 == 1 {
					return wire.Drop
				}
				return wire.Accept
			}
			unsent := 0
			for i := range frames {
				f := notice(0, i)
				f.Unsent = &unsent
				unsent += size - 1
				n.putAll(0, others(0, size, everyone), f)
				n.poll()
			}
			for rank := 3; rank < size; rank++ {
				n.until(func() bool { return len(n.sinks[rank].got) == frames }, "who keeps up has got everything")
			}
			n.quiesce()
			require.Len(t, n.sinks[1].got, 2)
			n.sinks[1].holdFrom(1 << 60)
			n.until(func() bool { return len(n.sinks[1].got) == frames && unsent == 0 }, "so has who was behind")
			seen := map[wire.Header]bool{}
			for _, got := range n.sinks[1].got {
				seen[got.Header] = true
			}
			require.Len(t, seen, frames)
			require.Len(t, n.sinks[2].got, frames/2, "what is dropped does not arrive")
		})
	}
}

// testPutAllNoAllocation also checks what is counted.
func testPutAllNoAllocation(t *testing.T, with Make) {
	n := connectGroup(t, with, 4)
	for _, s := range n.sinks {
		s.buffer = func(*wire.Header) []byte { return nil }
		s.got = append(s.got, received{}, received{}) // so that recording does not allocate
	}
	f, ranks := notice(0, 1), []int{1, 2, 3}
	round := func() {
		for _, s := range n.sinks {
			s.got = s.got[:0]
		}
		n.putAll(0, ranks, f)
		for n.count() < len(ranks) {
			n.poll()
		}
	}
	for range 100 {
		round()
	}
	before := n.ranks[0].Stats().PutFrames
	require.Zero(t, testing.AllocsPerRun(500, round))
	require.Equal(t, before+3*501, n.ranks[0].Stats().PutFrames)
	require.Equal(t, uint64(601), n.ranks[3].Stats().GotFrames)
}

// testPutAllWait has one rank after the other wake all others, which park.
func testPutAllWait(t *testing.T, with Make) {
	const rounds = 150
	for _, size := range groupSizes {
		t.Run(fmt.Sprint("ranks=", size), func(t *testing.T) {
			n := connectGroup(t, with, size)
			play := func(rank int) {
				tr, s := n.ranks[rank], n.sinks[rank]
				for i := range rounds {
					unsent, want := 0, i+1-(i+size-1-rank)/size
					if i%size == rank {
						f := notice(rank, i)
						unsent, want = size-1, 0
						f.Unsent = &unsent
						n.putAll(rank, others(rank, size, everyone), f)
					}
					for unsent > 0 || len(s.got) < want {
						if !tr.Poll(s) {
							tr.Wait(-1)
						}
					}
				}
			}
			done := signal()
			for rank := 1; rank < size; rank++ {
				go func() { play(rank); done <- struct{}{} }()
			}
			within(t, func() {
				play(0)
				for range size - 1 {
					<-done
				}
			})
		})
	}
}

// testPutAllEnd checks that a goodbye takes nothing back, and that ranks that are
// gone keep nothing from the others.
func testPutAllEnd(t *testing.T, with Make) {
	n := connectGroup(t, with, 4)
	n.greet()
	n.sinks[1].holdFrom(0)
	n.putAll(0, []int{1, 2, 3}, notice(0, 1))
	n.poll()
	require.NoError(t, n.ranks[0].Close(true, patience))
	n.until(func() bool { return n.sinks[2].closed()+n.sinks[3].closed() == 2 }, "ranks 2 and 3 know")
	n.quiesce()
	require.Empty(t, n.sinks[1].got)
	require.Zero(t, n.sinks[1].closed(), "it has not got everything")
	n.sinks[1].holdFrom(1 << 60)
	n.until(func() bool { return n.sinks[1].closed() == 1 }, "rank 1 knows")
	for _, s := range n.sinks[1:] {
		require.Len(t, s.got, 1)
		require.Zero(t, s.lost())
	}
	unsent := 0
	for i := range 100 {
		f := notice(1, i)
		f.Unsent = &unsent
		unsent += 3
		n.putAll(1, []int{0, 2, 3}, f)
		n.poll()
	}
	n.until(func() bool { return len(n.sinks[2].got) == 101 && len(n.sinks[3].got) == 101 && unsent == 0 }, "the others get everything")
}
