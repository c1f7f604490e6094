package rdma

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime/wire"
)

// An adapter may refuse a group. Numbers of groups are reused once nothing is queued for their
// earlier groups.
func TestGroupNumbers(t *testing.T) {
	n := NewFabric()
	trs, errs := JoinAll(t, 2, func(_ int, c *Config) { c.Open = n.Open(1024, true) })
	require.NoError(t, errors.Join(errs...))
	tr := trs[0]
	var open []wire.Group
	join := func() (wire.Group, error) {
		name, err := tr.DrawGroup()
		require.NoError(t, err)
		g, err := tr.JoinGroup(name, []int{0, 1})
		require.NoError(t, err)
		ok, err := g.Ready()
		if err == nil && !ok {
			ok, err = g.Ready()
		}
		require.Equal(t, err == nil, ok)
		return g, err
	}
	for range MostGroups {
		g, err := join()
		require.NoError(t, err)
		open = append(open, g)
	}
	full, err := join()
	require.ErrorContains(t, err, "verbs: rank 0: join group 239.")
	require.ErrorContains(t, err, "256 groups are joined already")
	full.Leave()
	require.Len(t, n.members, 1+MostGroups)

	open[5].Use(9)
	tr.Mcast(&wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Comm: 9}})
	open[5].Leave()
	full, err = join()
	require.ErrorIs(t, err, errGroups, "a multicast is queued for the only one that has been left")
	full.Leave()
	tr.Poll(wire.Nobody{})
	again, err := join()
	require.NoError(t, err)
	require.Equal(t, 5, again.(*group).number)
	again.Leave()

	tr.adapter.(*port).refuses = errors.New("no memory")
	refused, err := join()
	require.ErrorContains(t, err, "no memory")
	refused.Leave()
	require.Equal(t, uint64(3), tr.Stats().GroupsRefused)
	require.NoError(t, errors.Join(tr.Close(false, 0), trs[1].Close(false, 0)))
	require.Empty(t, n.members)
}

// A group that takes too long to join is given up, and for a while no other is drawn.
func TestSlowGroups(t *testing.T) {
	n := NewFabric()
	trs, errs := JoinAll(t, 2, func(_ int, c *Config) { c.Open = n.Open(1024, true) })
	require.NoError(t, errors.Join(errs...))
	tr := trs[0]
	var now clock.Manual
	tr.clock = &now
	tr.adapter.(*port).busy = true
	name, err := tr.DrawGroup()
	require.NoError(t, err)
	g, err := tr.JoinGroup(name, []int{0, 1})
	require.NoError(t, err)
	now.Advance(joinTime - 1)
	ok, err := g.Ready()
	require.NoError(t, err)
	require.False(t, ok)
	now.Advance(1)
	for range 2 {
		_, err = g.Ready()
		require.ErrorIs(t, err, errSlow)
	}
	g.Leave()
	now.Advance(refusedTime - 1)
	_, err = tr.DrawGroup()
	require.ErrorIs(t, err, errSlow)
	now.Advance(1)
	_, err = tr.DrawGroup()
	require.NoError(t, err)
	require.NoError(t, errors.Join(tr.Close(false, 0), trs[1].Close(false, 0)))
}
