package stream

import (
	"fmt"
	"math/bits"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/runtime/wire"
)

// An answer uses the existing connection.
func TestAnswerOpensNoConnection(t *testing.T) {
	for rank := range 2 {
		x := newCrossing(t)
		x.say(rank, 0)
		x.connect(rank)
		x.settle(t, x.allCome)
		x.say(1-rank, 0)
		require.Zero(t, x.dialling(1-rank))
		x.settle(t, x.allCome)
		require.True(t, x.united(0))
	}
}

// If two ranks open connections at the same time, then in every order of steps all puts arrive once
// and in order, and one connection remains.
func TestCrossingInEveryOrder(t *testing.T) {
	steps := []func(x *crossing, rank int){
		func(x *crossing, rank int) { x.say(rank, 0) }, (*crossing).connect, (*crossing).poll, (*crossing).poll,
	}
	for order := range 1 << (2 * len(steps)) {
		if bits.OnesCount(uint(order)) != len(steps) {
			continue
		}
		t.Run(fmt.Sprintf("%08b", order), func(t *testing.T) {
			x := newCrossing(t)
			var next [2]int
			for k := range 2 * len(steps) {
				rank := order >> k & 1
				steps[next[rank]](x, rank)
				next[rank]++
			}
			x.requireUnited(t, 0)
			x.requireOrder(t)
		})
	}
}

// Neither rank waits for the other before it sends.
func TestCrossingDoesNotWait(t *testing.T) {
	x := newCrossing(t)
	for rank := range 2 {
		x.say(rank, 0)
	}
	for rank := range 2 {
		x.connect(rank)
		x.ranks[rank].adopt()
		x.ranks[rank].flushAll(wire.Nobody{})
		require.True(t, x.ranks[rank].peers[1-rank].out[0].idle())
	}
	x.settle(t, x.allCome)
}

// TestCrossingsKeepOrder has two ranks do anything in any order, with dials of any duration. Puts
// must arrive once, and in order in their lane. If a rank closes, every rank that it has spoken to
// learns that after all its puts have arrived; a death is not taken for closing.
func TestCrossingsKeepOrder(t *testing.T) {
	for name, edits := range map[string][]func(*Options){"no key": nil, "signed": {signed}, "encrypted": {encrypted}} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				x := newCrossing(t, edits...)
				x.play(r)
				x.sinks[0].hold, x.sinks[1].hold = false, false
				if rapid.Bool().Draw(r, "all comes first") {
					x.settle(r, x.allCome)
					for _, lane := range playLanes {
						x.requireUnited(r, lane)
					}
				}
				x.end(r)
				x.requireOrder(r)
				require.NoError(r, x.ranks[0].Close(false, 0))
				require.NoError(r, x.ranks[1].Close(false, 0))
				require.Zero(r, x.unsent)
			})
		})
	}
}

// playLanes are operations of two communicators, and control.
var playLanes = []int{laneIndex(wire.LaneOps, 0), laneIndex(wire.LaneOps, 1), int(wire.LaneControl)}

// play makes random steps.
func (x *crossing) play(r *rapid.T) {
	for range rapid.IntRange(0, 60).Draw(r, "steps") {
		rank := rapid.IntRange(0, 1).Draw(r, "rank")
		lane := rapid.SampledFrom(playLanes).Draw(r, "lane")
		switch rapid.SampledFrom([]string{"put", "put", "put", "connect", "poll", "poll", "poll", "hold", "forget"}).Draw(r, "step") {
		case "put":
			x.say(rank, lane)
		case "connect":
			x.connect(rank)
		case "poll":
			x.poll(rank)
		case "hold":
			x.sinks[rank].hold = !x.sinks[rank].hold
		case "forget":
			if l, comm := laneOf(lane); l == wire.LaneOps && x.turnsUnread(rank, lane) < maxHeirs-1 {
				x.ranks[rank].Forget(comm)
			}
		}
	}
}

// turnsUnread returns how many turns of a rank the other rank has not begun to read. Until it has,
// a number is not reused more often.
func (x *crossing) turnsUnread(rank, lane int) int {
	from, to := &x.ranks[rank].peers[1-rank], &x.ranks[1-rank].peers[rank]
	from.reach(lane)
	to.reach(lane)
	return int(from.outTurn[lane] - to.inTurn[lane])
}

// allCome reports whether all puts have arrived.
func (x *crossing) allCome() bool {
	for rank := range 2 {
		for lane, n := range x.put[rank] {
			if uint64(len(x.sinks[1-rank].got[lane])) < n {
				return false
			}
		}
	}
	return true
}

// requireOrder checks that the arrivals on each lane are a prefix of the puts.
func (x *crossing) requireOrder(t require.TestingT) {
	for rank, s := range x.sinks {
		for lane, got := range s.got {
			for i, seq := range got {
				require.EqualValues(t, i, seq, "lane %d of rank %d: %v", lane, 1-rank, got)
			}
		}
	}
}

// requireUnited checks that after a crossing both ranks use one connection for a lane.
func (x *crossing) requireUnited(t require.TestingT, lane int) {
	for range 2 {
		x.say(0, lane)
		x.say(1, lane)
		x.settle(t, func() bool { return x.allCome() && x.conns(0, lane) == 1 && x.conns(1, lane) == 1 })
	}
	require.True(t, x.united(lane), "lane %d\n%s%s", lane, x.tell(0), x.tell(1))
}

// end makes one rank close or die. The other rank puts a frame to it, and another frame now and
// then, like a rank that watches: if a connection's turn has not come, only that shows that it is
// broken.
func (x *crossing) end(r *rapid.T) {
	rank, bye := rapid.IntRange(0, 1).Draw(r, "who"), rapid.Bool().Draw(r, "bye")
	tr, other := x.ranks[rank], x.sinks[1-rank]
	x.say(1-rank, int(wire.LaneControl))
	close(x.gates[0])
	close(x.gates[1])
	done := make(chan error, 1)
	go func() { done <- tr.Close(bye, patience) }()
	watch := time.NewTicker(100 * time.Millisecond)
	defer watch.Stop()
	for end := time.Now().Add(patience); len(done) == 0 || other.how == 0; x.ranks[1-rank].Wait(time.Millisecond) {
		select {
		case <-watch.C:
			x.say(1-rank, int(wire.LaneControl))
		default:
		}
		x.ranks[1-rank].Poll(other)
		require.True(r, time.Now().Before(end), "still waiting for the end of rank %d, closed %d\n%s", rank, len(done), x.tell(1-rank))
	}
	require.NoError(r, <-done)
	switch {
	case !bye:
		require.NotEqual(r, wire.Closed, other.how)
		return
	case x.put[rank][int(wire.LaneControl)] > 0:
		require.Equal(r, wire.Closed, other.how, "%v", other.err)
	default: // it may never have seen the other's connections
		require.NotEqual(r, wire.Broken, other.how, "%v", other.err)
	}
	for lane, n := range x.put[rank] {
		require.Len(r, other.got[lane], int(n), "lane %d\n%s", lane, x.tell(1-rank))
	}
}
