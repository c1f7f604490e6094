package datagram

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Two members call, on two hosts if possible, and each member waits for a caller on another host,
// if possible.
func TestCallers(t *testing.T) {
	at := func(host byte) netip.AddrPort { return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, host}), 9) }
	sources := []netip.AddrPort{at(1), at(1), at(1), at(2), at(2), at(3)}
	for _, test := range []struct {
		members []int
		calls   []int
		hears   []int
	}{
		{[]int{0, 1, 2}, []int{0, 1}, []int{1, 0, 0}},
		{[]int{3, 4}, []int{3, 4}, []int{4, 3}},
		{[]int{0, 1, 3, 5, 4}, []int{0, 3}, []int{3, 3, 0, 0, 0}},
		{[]int{3, 0, 4, 1}, []int{3, 0}, []int{0, 3, 0, 3}},
		{[]int{5, 3}, []int{5, 3}, []int{3, 5}},
	} {
		for i, rank := range test.members {
			g := &group{t: &Transport{rank: rank}, in: inlet{sources: sources}}
			g.arrange(test.members)
			require.Equal(t, rank == test.calls[0] || rank == test.calls[1], g.calls, "%v: %d", test.members, rank)
			require.Equal(t, test.hears[i], g.hears, "%v: %d", test.members, rank)
		}
	}
}

// A rank that hears nothing in a group says so after a while, and joins no other group for a longer
// while. It still calls in groups that it cannot hear.
func TestGroupThatIsNotHeard(t *testing.T) {
	trs := joined(t, 3, Config{})
	clocks := &clock.Manual{}
	for _, tr := range trs {
		tr.groups.clock = clocks
	}
	name, err := trs[0].DrawGroup()
	require.NoError(t, err)
	lonely, err := trs[1].JoinGroup(name, []int{0, 1})
	require.NoError(t, err)
	ready := func(g wire.Group) bool {
		ok, err := g.Ready()
		require.NoError(t, err)
		return ok
	}
	require.False(t, ready(lonely))
	clocks.Advance(hearTime)
	_, err = lonely.Ready()
	require.ErrorContains(t, err, "mcast: rank 1: no multicast of rank 0 to 239.")
	lonely.Leave()
	_, err = trs[1].DrawGroup()
	require.ErrorContains(t, err, "a group that was joined less than")
	require.Equal(t, uint64(2), trs[1].Stats().GroupsRefused)

	cannot, err := trs[1].JoinGroup(name, []int{1, 2})
	require.NoError(t, err)
	_, err = cannot.Ready()
	require.ErrorContains(t, err, "a group that was joined less than")
	hears, err := trs[2].JoinGroup(name, []int{1, 2})
	require.NoError(t, err)
	for !ready(hears) {
		clocks.Advance(callPause)
		trs[1].Poll(&tally{})
		trs[2].Poll(&tally{})
	}
	clocks.Advance(pauseTime)
	_, err = trs[1].DrawGroup()
	require.NoError(t, err)
}

// Queued multicasts go to their group, even if it was left, or is used by another communicator,
// since.
func TestQueuedForAGroupThatIsLeft(t *testing.T) {
	trs := joined(t, 3, Config{})
	join := func(members ...int) (groups []wire.Group) {
		name, err := trs[0].DrawGroup()
		require.NoError(t, err)
		for _, rank := range members {
			g, err := trs[rank].JoinGroup(name, members)
			require.NoError(t, err)
			g.Use(7)
			groups = append(groups, g)
		}
		return groups
	}
	first := join(0, 1)
	trs[0].block(&trs[0].group, true) // prevents sending
	trs[0].Mcast(&wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Comm: 7, Seq: 1}})
	first[0].Leave()
	join(0, 2)
	trs[0].Mcast(&wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Comm: 7, Seq: 2}})
	trs[0].block(&trs[0].group, false)
	one, two := &tally{}, &tally{}
	for one.fragments == 0 || two.fragments == 0 {
		trs[0].Poll(&tally{})
		trs[1].Poll(one)
		trs[2].Poll(two)
	}
	require.Equal(t, []uint64{1}, one.seqs)
	require.Equal(t, []uint64{2}, two.seqs)
	require.Len(t, trs[0].groups.slots, 2)
}
