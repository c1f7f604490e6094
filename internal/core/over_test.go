package core

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/ether"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

const castBarrier = "barrier/hsb-mcast"

// flock is cores where rank 0's multicasts reach all ranks except the last.
type flock struct {
	*lanes
	t   *testing.T
	now Time
}

func newFlock(t *testing.T, size int) *flock {
	f := &flock{lanes: newLanes(size), t: t, now: 1}
	for rank := range size {
		f.cores[rank] = New(Config{
			Rank: rank, Size: size, Epoch: 1, Repair: 20e6, Stall: 250e6, Retain: 1 << 20, PublishWindow: 1, Overlay: nowhere{},
			Caps: wire.Caps{Multicast: true, Direct: true, Datagram: 1000},
		}, ether.Net{Ether: f.Ether, Rank: rank, Piece: 1000})
	}
	return f
}

// begin makes the given ranks enter an operation with blocks of n bytes.
func (f *flock) begin(ranks []int, name string, p schedule.Params, n int) {
	p.Ranks = len(f.cores)
	for _, rank := range ranks {
		plan := planOf(f.t, name, p, rank)
		mem := InPlace(make([]byte, n))
		if pl := &plan.places; pl.blocks > 1 {
			mem = Buffers{In: make([]byte, pl.held.Count*n), Out: make([]byte, pl.wanted.Count*n), Block: n}
		}
		f.cores[rank].Begin(plan, mem)
	}
}

// settle delivers everything that can be delivered.
func (f *flock) settle() {
	for moved := true; moved; {
		for _, g := range f.Grams {
			if g.All && g.To < len(f.cores)-1 {
				f.cores[g.To].Fragment(&g.Header, g.Offset, g.Body)
			}
		}
		f.Grams = f.Grams[:0]
		moved = f.deliverEach(f.t)
	}
}

// end makes the given ranks return from operation seq.
func (f *flock) end(ranks []int, seq uint64) {
	for _, rank := range ranks {
		require.True(f.t, f.cores[rank].Ready(seq), "rank %d, operation %d", rank, seq)
		f.cores[rank].End(seq)
	}
}

// wait lets time pass at a rank, and delivers what the rank sends.
func (f *flock) wait(rank int, d Time) {
	f.cores[rank].Tick(f.now)
	f.now += d
	f.cores[rank].Tick(f.now)
	f.settle()
}

// apart is ranks 0 and 1 of three in many broadcasts after a barrier. Rank 2 has lost the release
// of the barrier and is still inside it.
func apart(t *testing.T, ahead int) *flock {
	f := newFlock(t, 3)
	f.begin([]int{0, 1, 2}, castBarrier, schedule.Params{}, 0)
	f.settle()
	f.end([]int{0, 1}, 1)
	for i := range ahead {
		f.begin([]int{0, 1}, "bcast/chain", schedule.Params{Chunks: 1}, 8)
		f.settle()
		f.end([]int{0, 1}, uint64(i+2))
	}
	require.False(t, f.cores[2].Ready(1))
	return f
}

// Rank 2 gets an answer although later frames of rank 1, chunks of later operations, are held, and
// rank 1 remembers nothing of the barrier.
func TestLostReleaseOfABarrierLongOver(t *testing.T) {
	for _, ahead := range []int{0, 1, Remembered - 1, Remembered, 5 * Remembered} {
		t.Run(fmt.Sprint(ahead), func(t *testing.T) {
			f := apart(t, ahead)
			f.wait(2, 20e6)
			f.end([]int{2}, 1)
			for i := range ahead {
				f.begin([]int{2}, "bcast/chain", schedule.Params{Chunks: 1}, 8)
				f.settle()
				f.end([]int{2}, uint64(i+2))
			}
		})
	}
}

// A probed neighbour says that the operation is over, too.
func TestLostReleaseOfAProbe(t *testing.T) {
	for _, ahead := range []int{0, 3 * Remembered} {
		f := apart(t, ahead)
		f.cores[2].Normalize()
		f.cores[2].Ring(Alarm{Kind: AlarmProbe, Seq: 1})
		f.settle()
		f.end([]int{2}, 1)
	}
}

// A goodbye says that all operations that its rank has ended are over.
func TestLostReleaseOfRanksThatHaveLeft(t *testing.T) {
	f := apart(t, 0)
	require.True(t, f.cores[1].Close(ErrPeerLeft))
	f.cores[1].Goodbye(true)
	f.settle()
	f.end([]int{2}, 1)

	f = newFlock(t, 3) // a goodbye says nothing about an operation that its rank has not ended
	f.begin([]int{0, 2}, castBarrier, schedule.Params{}, 0)
	f.settle()
	f.cores[2].Arrived(&wire.Header{Kind: wire.FrameLeave, Lane: wire.LaneControl, Epoch: 1, From: 1}, nil)
	require.False(t, f.cores[2].Ready(1))
	require.ErrorIs(t, f.cores[2].Err(), ErrPeerLeft)
}

// The end of an operation without bytes at a rank shows that the blocks that the rank wants have
// arrived.
func TestEndOfAnOperationWithoutBytes(t *testing.T) {
	for _, c := range []struct {
		name string
		root int
		from int
		over bool // that rank's end shows that rank 2's operation is over
	}{
		{"gather/linear", 2, 1, false}, // rank 0 may not have entered yet
		{"gather/linear", 0, 1, true},  // rank 2 wants nothing
		{"scatter/linear", 0, 1, true},
		{"bcast/linear", 0, 1, true},
		{"bcast/linear", 2, 1, true},
		{"allgather/ring", 0, 1, true},
		{"alltoall/linear", 0, 1, true},
	} {
		f := newFlock(t, 3)
		f.begin([]int{2}, c.name, schedule.Params{Root: c.root, Chunks: 1}, 0)
		own := f.cores[2].ops.open(1).print
		f.cores[2].Arrived(&wire.Header{Kind: wire.FrameOver, Lane: wire.LaneControl, Epoch: 1, From: c.from, Seq: 1, Print: own}, nil)
		require.Equal(t, c.over, f.cores[2].Ready(1), "%s from root %d", c.name, c.root)
	}
}

// A goodbye names the last call of its rank. If this rank's call under that number differs, this
// rank fails by a mismatch, whether it makes the call before the goodbye or after it: no other rank
// may be left to tell it.
func TestGoodbyeOfARankThatDiffers(t *testing.T) {
	leave := func(c *Core, from int, last uint64, fingerprint uint32) {
		c.Arrived(&wire.Header{Kind: wire.FrameLeave, Lane: wire.LaneControl, Epoch: 1, From: from, Seq: last, Print: fingerprint}, nil)
	}
	gather := func(t *testing.T, root int) (*Core, uint32) {
		f := newFlock(t, 3)
		f.begin([]int{0}, "gather/linear", schedule.Params{Root: root, Chunks: 1}, 8)
		return f.cores[0], f.cores[0].ops.open(1).print
	}
	_, theirs := gather(t, 1)
	for _, late := range []bool{false, true} {
		c, mine := gather(t, 0)
		if late {
			f := newFlock(t, 3)
			c = f.cores[0]
			leave(c, 1, 1, mine)
			leave(c, 2, 1, theirs)
			require.NoError(t, c.Err(), "it may be about to call the same")
			f.begin([]int{0}, "gather/linear", schedule.Params{Chunks: 1}, 8)
		} else {
			leave(c, 1, 1, mine)
			require.NoError(t, c.Err())
			leave(c, 2, 1, theirs)
		}
		require.ErrorIs(t, c.Err(), ErrMismatch)
		require.ErrorContains(t, c.Err(), "operation 1: rank 0 called gather of blocks of 8 bytes from root 0 by gather/linear")
		require.ErrorContains(t, c.Err(), "rank 2 called something else")
	}
	c, _ := gather(t, 0)
	leave(c, 2, 1, 0)
	require.NoError(t, c.Err(), "it has not said what")
}

// A leaving rank says goodbye to all ranks that may ask it, however far they are.
func TestGoodbyeToThoseThatAsk(t *testing.T) {
	const size = 200
	p := schedule.Params{Ranks: size, FanIn: 2, FanOut: size}
	for rank, far := range map[int]int{0: 1, 1: size - 1} {
		net := &probed{}
		c := New(Config{Rank: rank, Size: size, Epoch: 1, Repair: 20e6, PublishWindow: 1, Overlay: nowhere{}}, net)
		c.Goodbye(true)
		require.Less(t, len(net.to), 40)
		c.Begin(planOf(t, castBarrier, p, rank), InPlace(nil))
		net.to = nil
		c.Goodbye(true)
		require.Contains(t, net.to, far)
	}
}

// FrameOver about another operation, messages of other ranks, or a call that differs changes
// nothing.
func TestWordThatNothingIsOver(t *testing.T) {
	f := newFlock(t, 3)
	f.begin([]int{0, 1, 2}, castBarrier, schedule.Params{}, 0)
	o := f.cores[2].ops.open(1)
	over := wire.Header{Kind: wire.FrameOver, Lane: wire.LaneControl, Epoch: 1, From: 1, Seq: 2, Print: o.print}
	f.cores[2].Arrived(&over, nil)
	over.Seq, over.Print = 1, o.print^2
	f.cores[2].Arrived(&over, nil)
	require.False(t, f.cores[2].Ready(1))

	f.begin([]int{2}, "bcast/chain", schedule.Params{Chunks: 1}, 8)
	over.Seq, over.Print = 2, f.cores[2].ops.open(2).print
	f.cores[2].Arrived(&over, nil)
	require.False(t, f.cores[2].Ready(2), "a chunk with bytes is not told")
	require.NoError(t, f.cores[2].Err())
}
