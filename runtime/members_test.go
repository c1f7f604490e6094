package runtime

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule/selection"
)

func TestCapsAmongMembers(t *testing.T) {
	across := wire.Caps{Multicast: true, Datagram: 1400, Local: 2, Host: []int{7, 7, 9, 9, 4, 4}}
	for name, test := range map[string]struct {
		caps      wire.Caps
		endpoints []int
		local     int
		hosts     int
		spread    bool
	}{
		"one host":         {across, []int{2, 3}, 2, 1, false},
		"a rank a host":    {across, []int{4, 2, 0}, 1, 3, true},
		"blocks":           {across, []int{2, 3, 0, 1}, 2, 2, true},
		"no blocks":        {across, []int{2, 0, 3, 1}, 2, 0, true},
		"a few":            {across, []int{2, 0}, 1, 2, false},
		"all on this host": {wire.Caps{Local: 6}, []int{2, 4, 5}, 3, 1, true},
		"unknown":          {wire.Caps{Local: 2}, []int{2, 4, 5}, 0, 0, true},
		"the same host":    {wire.Caps{Local: 4, Host: []int{1, 1, 1, 1, 1, 2}}, []int{2, 0, 1, 3, 4}, 5, 1, false},
	} {
		got := capsAmong(test.caps, 6, 2, test.endpoints)
		require.Equal(t, test.local, got.Local, name)
		require.Equal(t, test.hosts, selection.Blocks(got.Host), name)
		require.Equal(t, test.caps.Datagram, got.Datagram, name)
		require.Equal(t, test.spread, spreads(test.caps, got, 6, len(test.endpoints), false), name)
		require.Equal(t, test.spread || name == "a few", spreads(test.caps, got, 6, len(test.endpoints), true), name)
	}
}

// Frames that a core sends to a rank go to the member's endpoint, and frames from an endpoint
// arrive from the member's rank.
func TestMembersAreTranslated(t *testing.T) {
	tr := &sent{rank: 4, size: 6}
	m := newMembers(tr, 9, []int{2, 4, 5})
	m.Put(2, &wire.Frame{Header: wire.Header{From: 1}})
	require.Equal(t, wire.Header{Comm: 9, From: 4}, tr.last)

	h := &wire.Header{Comm: 9, From: 5, Seq: 3}
	require.Equal(t, &wire.Header{Comm: 9, From: 2, Seq: 3}, m.shown(h))
	require.Equal(t, 5, h.From, "the transport's own header stays")
	require.Nil(t, m.shown(&wire.Header{From: 3}))
}

// Frames from ranks that are no members, such as multicasts, are dropped.
func TestFramesOfStrangers(t *testing.T) {
	first := still(t, &sent{rank: 4, size: 6}, Config{})
	c, err := first.register([]int{5, 2, 4}, outcome{number: 9, epoch: 7}, casting{})
	require.NoError(t, err)
	require.Equal(t, 2, c.Rank())
	d := first.drv
	stranger := &wire.Header{Kind: wire.FrameProbe, Lane: wire.LaneControl, Comm: 9, Epoch: 7, From: 3}
	_, v := d.Body(stranger)
	require.Equal(t, wire.Drop, v)
	require.Equal(t, wire.Drop, d.Fragment(stranger, 0, nil))
	member := *stranger
	member.From = 5
	_, v = d.Body(&member)
	require.Equal(t, wire.Accept, v)
	member.Epoch = 6 // of an earlier communicator with this number
	_, v = d.Body(&member)
	require.Equal(t, wire.Drop, v)
	require.Equal(t, uint64(3), c.core.Counters().Stale+d.stale)
	d.Ended(3, wire.Refused, errors.New("refused"))
	d.Ended(0, wire.Closed, nil)
	require.NoError(t, c.core.Err())
	d.Ended(5, wire.Broken, errors.New("a broken line"))
	require.NoError(t, c.core.Err(), "the others are asked whom they have lost")
	c.core.Settle()
	require.ErrorIs(t, c.core.Err(), ErrPeerLost)
	require.ErrorContains(t, c.core.Err(), "rank 0:")

	later, err := first.register([]int{4, 5}, outcome{number: 10, epoch: 8}, casting{})
	require.NoError(t, err)
	later.core.Tick(1)
	require.ErrorIs(t, later.core.Err(), ErrPeerLost, "what the transport tells but once")
	require.ErrorContains(t, later.core.Err(), "rank 1:")
	require.Equal(t, map[int]bool{5: true}, d.gone, "two communicators have lost it")
	later, err = first.register([]int{4, 2}, outcome{number: 11, epoch: 9}, casting{})
	require.NoError(t, err)
	require.NoError(t, later.core.Err())
}

func TestRanksThatMayShareAHost(t *testing.T) {
	for _, test := range []struct {
		host  []int
		ranks int
		want  bool
	}{
		{nil, 1, false},
		{nil, 2, true},
		{[]int{4}, 1, false},
		{[]int{4, 5, 0}, 3, false},
		{[]int{4, 5, 4}, 3, true},
	} {
		require.Equal(t, test.want, shareHosts(wire.Caps{Host: test.host}, test.ranks), "%v", test.host)
	}
}
