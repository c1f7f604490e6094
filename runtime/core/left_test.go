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
func TestWhoRefusesMayHaveLeft(t *testing.T) {
	c := New(Config{Size: many, Epoch: 1, Repair: 20e6, Stall: 250e6, Silence: 8e9, PublishWindow: 1, Overlay: nowhere{}}, &questioner{})
	c.Ended(25, wire.Broken, errAway)
	require.ErrorIs(t, c.fate.err, ErrPeerLost)
	c.Ended(26, wire.Refused, errAway)
	goOn(c, 2, 3e9, func() {})
	require.True(t, c.members.gone(26))
	require.False(t, c.members.lost(26))
}

// If others say that a rank has left that would have said goodbye to this one, this rank asks
// before it votes.
func TestDoubtsWhatOthersSay(t *testing.T) {
	net := &questioner{}
	c := New(Config{Size: many, Epoch: 1, Repair: 20e6, Stall: 250e6, Silence: 8e9, PublishWindow: 1, Overlay: nowhere{}}, net)
	b := c.agree.of(0)
	s := saying{kind: agreeCall, gone: newRankset(many), lostSet: newLostSet(many), apart: newRankset(many)}
	for _, rank := range []int{3, 50, 51} {
		s.gone.add(rank)
	}
	s.lost.add(50)
	f := s.frame(many)
	f.Epoch, f.From = 1, 20
	c.Arrived(&f.Header, f.Body)
	require.True(t, c.members.gone(51), "it need not have heard that")
	require.Equal(t, []int{3}, b.doubted())
	b.missing = nil
	goOn(c, 1, 3e9, func() { c.Tick(1) })
	require.False(t, b.raised)
	require.Contains(t, net.asks(), 3)
	c.Arrived(control(3, wire.FrameLeave), nil)
	require.True(t, b.known)
	require.Empty(t, b.doubted())
}
