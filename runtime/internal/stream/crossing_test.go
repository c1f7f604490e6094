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

// Who answers does so on the connection that is there.
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

// Two that open connections at the same time: in every order of what they do, all that
// is put comes once and in order, and one connection is left.
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

// Nobody waits for a word of the other before it sends.
func TestCrossingWaitsForNobody(t *testing.T) {
	x := newCrossing(t)
	for rank := range 2 {
		x.say(rank, 0)
	}
	for rank := range 2 {
		x.connect(rank)
		x.ranks[rank].adopt()
		x.ranks[rank].flushAll(nobody{})
		require.True(t, x.ranks[rank].peers[1-rank].out[0].idle())
	}
	x.settle(t, x.allCome)
}

// Whatever two ranks do, in whatever order, and however long their dials take: what they
// put comes once, and in order in its lane. A rank that closes is known to have closed by
// whoever it has spoken to, after all that it has put has come; one that dies is not.
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

// play does what is drawn.
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

// turnsUnread returns how many turns of a rank the other one has not begun to read: a
// number is not used again more often before that.
func (x *crossing) turnsUnread(rank, lane int) int {
	from, to := &x.ranks[rank].peers[1-rank], &x.ranks[1-rank].peers[rank]
	from.reach(lane)
	to.reach(lane)
	return int(from.outTurn[lane] - to.inTurn[lane])
}

// allCome reports whether all that was put has come.
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

// requireOrder checks that what has come is a beginning of what was put, on each lane.
func (x *crossing) requireOrder(t require.TestingT) {
	for rank, s := range x.sinks {
		for lane, got := range s.got {
			for i, seq := range got {
				require.EqualValues(t, i, seq, "lane %d of rank %d: %v", lane, 1-rank, got)
			}
		}
	}
}

// requireUnited checks that what both say on a lane goes by one connection, from when a
// crossing is over.
func (x *crossing) requireUnited(t require.TestingT, lane int) {
	for range 2 {
		x.say(0, lane)
		x.say(1, lane)
		x.settle(t, func() bool { return x.allCome() && x.conns(0, lane) == 1 && x.conns(1, lane) == 1 })
	}
	require.True(t, x.united(lane), "lane %d\n%s%s", lane, x.tell(0), x.tell(1))
}

// end has one of the ranks close or die, to which the other one puts a frame, and another one now and then, as a rank
// does that watches: of a connection whose turn has not come it hears only by that that it is broken.
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
	default: // it may never have seen the connections of the other
		require.NotEqual(r, wire.Broken, other.how, "%v", other.err)
	}
	for lane, n := range x.put[rank] {
		require.Len(r, other.got[lane], int(n), "lane %d\n%s", lane, x.tell(1-rank))
	}
}
