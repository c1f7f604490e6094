package core

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// A rank that cannot go on says so about itself, does not call others lost, and tells them.
func TestRankThatCannotGoOn(t *testing.T) {
	none := errors.New("no descriptors")
	net := &probed{}
	c := New(Config{Rank: 2, Size: 4, Epoch: 1, Repair: 1000, Stall: 1000, PublishWindow: 1, Overlay: nowhere{}}, net)
	c.Ended(2, wire.Broken, none)
	require.ErrorIs(t, c.Err(), ErrRefused)
	require.ErrorIs(t, c.Err(), none)
	require.NotErrorIs(t, c.Err(), ErrPeerLost)
	require.ErrorContains(t, c.Err(), "rank 2: the system refuses a resource: no descriptors")
	require.Equal(t, []int{3, 0}, net.to)
}
