package sim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSerializationIsExact(t *testing.T) {
	for _, c := range []struct {
		rate  int64
		bytes int
		want  Time
	}{
		{0, 1500, 0},
		{1e9, 1500, 12000},
		{100e6, 1514, 121120},
		{10e9, 1, 1}, // 0.8 ns: whole nanoseconds, and never less
		{3, 1, 2666666667},
		{8e9, 1 << 30, 1 << 30},
	} {
		require.Equal(t, c.want, (&Link{Rate: c.rate}).serialize(c.bytes), "%d bytes at %d bit/s", c.bytes, c.rate)
	}
}

// A packet waits for those before it, and what does not fit is dropped and takes
// no time.
func TestQueueOfALink(t *testing.T) {
	p := pipe{Link: Link{Rate: 8e9, Queue: 2500}} // a byte a nanosecond
	send := func(now Time, want Time, fits bool) {
		t.Helper()
		left, ok := p.send(now, 1000, 1)
		require.Equal(t, fits, ok)
		require.Equal(t, want, left)
	}
	send(1, 1001, true)
	send(1, 2001, true)
	send(1, 0, false)
	send(1000, 0, false) // the first byte too few
	send(1001, 3001, true)
	send(5000, 6000, true) // it has been idle
	require.Equal(t, LinkCount{Packets: 4, Bytes: 4000, Dropped: 2, Deepest: 2000, Busy: 4000}, p.count)
	left, ok := p.send(6000, 1000, 10)
	require.True(t, ok)
	require.Equal(t, Time(16000), left)
}

// A datagram takes the sender's link, both delays and the receiver's link: exact
// to the nanosecond.
func TestBroadcastOfOneDatagram(t *testing.T) {
	sc := &Scenario{
		Ranks: 3,
		Net: Net{
			Up: Link{Rate: 100e6, Delay: 7 * Microsecond}, Down: Link{Rate: 10e6, Delay: 3 * Microsecond},
			Multicast: true, Ordered: true,
		},
		Script: []Op{{Kind: OpBcast, Algorithm: "bcast/mcast-chain", Bytes: 1000}},
	}
	r := runs(t, sc)
	up, down := &sc.Net.Up, &sc.Net.Down
	want := 1 + up.serialize(1000+gramHead) + up.Delay + down.serialize(1000+gramHead) + down.Delay
	require.Equal(t, want, r.Calls[1].Return)
	require.Equal(t, 1, r.Cores[1].LastMcastChunks)
}
