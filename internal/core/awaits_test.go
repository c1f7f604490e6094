package core

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// gathering is rank 0, the root, in a gather of many ranks by one algorithm. No rank has put
// anything, and all ranks near it have left.
func gathering(t *testing.T, algorithm string) (*Core, *questioner) {
	p := schedule.Params{Ranks: many}
	spec, err := schedule.New(algorithm, p)
	require.NoError(t, err)
	net := &questioner{}
	c := New(Config{Size: many, Epoch: 1, Repair: 20e6, Stall: 250e6, Silence: 8e9, PublishWindow: 1, Overlay: nowhere{}}, net)
	plan := planOf(t, algorithm, p, 0)
	plan.Programs = spec.Program
	c.Begin(plan, Buffers{In: make([]byte, 1), Out: make([]byte, many), Block: 1})
	c.Tick(1)
	for distance := 1; distance < many; distance = presence.Farther(distance) {
		c.has(distance)
		c.goodbyeOf(distance)
	}
	require.NoError(t, c.Err())
	return c, net
}

// has lets a rank's block arrive.
func (c *Core) has(rank int) { c.ops.set(c.ops.open(1), ir.Chunk(rank)) }

func (c *Core) goodbyeOf(rank int) {
	h := control(rank, wire.FrameLeave)
	h.Seq, h.Print = 1, c.ops.print
	c.Arrived(h, nil)
}

// A rank asks the ranks that it waits for, after a long wait, and no others. It does not ask ranks
// that have put their blocks.
func TestAsksAwaitedRanks(t *testing.T) {
	c, net := gathering(t, "gather/linear")
	for rank := 1; rank < many; rank++ {
		if rank != 25 && rank != 77 {
			c.has(rank)
		}
	}
	now := goOn(c, 2, 8e9, func() {})
	require.Empty(t, net.asks())
	now = goOn(c, now, 15e9, func() {})
	asked := slices.Compact(slices.Sorted(slices.Values(net.asks())))
	require.Equal(t, []int{25, 77}, asked)
	c.has(77)
	goOn(c, now, 40e9, func() { c.Body(control(77, wire.FrameAlive)) })
	require.Error(t, c.fate.err)
	require.ErrorIs(t, c.fate.err, ErrPeerSilent)
	require.ErrorContains(t, c.fate.err, "rank 25: ")
	require.False(t, c.members.Lost(77))
}

// Few ranks are asked at a time, and a rank that answers makes room for others, so that a silent
// rank is found behind all of them.
func TestAsksInTurn(t *testing.T) {
	c, net := gathering(t, "gather/linear")
	before := 0
	goOn(c, 2, 22e9, func() { // six questions until all others have been asked once, a silence before and one after
		if c.fate.err != nil {
			c.Settle()
			return
		}
		asks := net.asks()
		require.LessOrEqual(t, len(asks)-before, 16)
		for _, rank := range asks[before:] {
			if rank != 99 {
				c.Body(control(rank, wire.FrameAlive))
			}
		}
		before = len(asks)
	})
	require.ErrorIs(t, c.fate.err, ErrPeerSilent)
	require.True(t, c.members.Lost(99))
}

// If others wait for a put of a rank that has left without it, for example because it has failed,
// they do not wait for ever.
func TestDoesNotWaitForRanksThatHaveLeft(t *testing.T) {
	c, _ := gathering(t, "gather/linear")
	for rank := 1; rank < many; rank++ {
		if rank != 25 {
			c.has(rank)
		}
	}
	c.Ended(25, wire.Closed, nil)
	require.NoError(t, c.Err())
	goOn(c, 2, 20e9, func() {})
	require.ErrorIs(t, c.Err(), ErrPeerLeft)
	require.NotErrorIs(t, c.Err(), ErrPeerLost)
	require.ErrorContains(t, c.Err(), "rank 25: ")
}

// A rank says goodbye to the ranks that have asked it, too.
func TestGoodbyeToRanksThatAsked(t *testing.T) {
	net := &questioner{}
	c := New(Config{Rank: 70, Size: many, Epoch: 1, Silence: 8e9, PublishWindow: 1, Overlay: nowhere{}}, net)
	ask := control(20, wire.FrameWatch)
	c.Arrived(ask, nil)
	c.Arrived(ask, nil)
	require.True(t, c.Close(errAway))
	c.Goodbye(true)
	told := 0
	for i, k := range net.kinds {
		if k == wire.FrameLeave && net.to[i] == 20 {
			told++
		}
	}
	require.Equal(t, 1, told)
}
