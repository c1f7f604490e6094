package core

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

var errAway = errors.New("away")

// many is a number of ranks for which not every rank says goodbye to every other.
const many = 100

// After calls have failed, a rank that takes no connections counts as having left, unless it would
// have said goodbye or others find that it is lost.
func TestRefusingRankMayHaveLeft(t *testing.T) {
	c := New(Config{Size: many, Epoch: 1, Repair: 20e6, Stall: 250e6, Silence: 8e9, PublishWindow: 1, Overlay: nowhere{}}, &questioner{})
	c.Ended(25, wire.Broken, errAway)
	require.ErrorIs(t, c.fate.err, ErrPeerLost)
	c.Ended(26, wire.Refused, errAway)
	goOn(c, 2, 3e9, func() {})
	require.True(t, c.members.Gone(26))
	require.False(t, c.members.Lost(26))
}

// If a rank that would have said goodbye to this rank has left according to others, this rank asks
// it.
func TestDoubtsReportsOfOthers(t *testing.T) {
	net := &questioner{}
	c := New(Config{Size: many, Epoch: 1, Repair: 20e6, Stall: 250e6, Silence: 8e9, PublishWindow: 1, Overlay: nowhere{}}, net)
	f := callOf(many, 0, []int{3, 50, 51}, []int{50})
	c.Arrived(&f.Header, f.Body)
	require.ErrorIs(t, c.fate.err, ErrPeerLost)
	require.True(t, c.members.Gone(51), "it need not have heard that")
	require.Equal(t, []int{3}, c.agree.Doubted((*facts)(c)))
	goOn(c, 1, 3e9, func() { c.Tick(1) })
	require.Contains(t, net.asks(), 3)
	c.Arrived(control(3, wire.FrameLeave), nil)
	require.Empty(t, c.agree.Doubted((*facts)(c)))
}

// A rank that has closed in good order and has not said goodbye yet tells a rank that asks no reason
// to fail: the goodbye is the answer.
func TestGoodbyeAnswersWhoAskedMeanwhile(t *testing.T) {
	for _, kind := range []wire.FrameKind{wire.FrameProbe, wire.FrameListen, wire.FrameFlush, wire.FrameWatch} {
		net := &questioner{}
		c := New(Config{Size: many, Epoch: 1, Repair: 20e6, Stall: 250e6, Silence: 8e9, PublishWindow: 1, Overlay: nowhere{}}, net)
		require.True(t, c.Close(errAway))
		const asker = 50
		for range 2 {
			if h := control(asker, kind); kind == wire.FrameWatch {
				c.Arrived(h, nil)
			} else {
				_, verdict := c.Body(h)
				require.Equal(t, wire.Drop, verdict)
			}
		}
		require.NotContains(t, net.kinds, wire.FrameAbort)
		c.Goodbye(true)
		require.NotContains(t, net.kinds, wire.FrameAbort)
		told := 0
		for i, to := range net.to {
			if to == asker && net.kinds[i] == wire.FrameLeave {
				told++
			}
		}
		require.Equal(t, 1, told, "frame kind %d", kind)
	}
}
