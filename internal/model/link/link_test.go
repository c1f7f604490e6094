package link_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/model/link"
)

func TestSerializationIsExact(t *testing.T) {
	for _, c := range []struct {
		rate  int64
		bytes int
		want  int64
	}{
		{0, 1500, 0},
		{1e9, 1500, 12000},
		{100e6, 1514, 121120},
		{10e9, 1, 1}, // 0.8 ns, rounded up to whole nanoseconds
		{3, 1, 2666666667},
		{8e9, 1 << 30, 1 << 30},
	} {
		require.Equal(t, c.want, (&link.Link[int64]{Rate: c.rate}).Serialize(c.bytes), "%d bytes at %d bit/s", c.bytes, c.rate)
	}
}

// TestQueueOfALink checks that a packet waits for earlier packets, and that a packet that does not
// fit is dropped and takes no time.
func TestQueueOfALink(t *testing.T) {
	p := link.Pipe[int64]{Link: link.Link[int64]{Rate: 8e9, Queue: 2500}} // a byte a nanosecond
	send := func(now, want int64, fits bool) {
		t.Helper()
		left, ok := p.Send(now, 1000, 1)
		require.Equal(t, fits, ok)
		require.Equal(t, want, left)
	}
	send(1, 1001, true)
	send(1, 2001, true)
	send(1, 0, false)
	send(1000, 0, false) // one byte does not fit
	send(1001, 3001, true)
	send(5000, 6000, true) // it has been idle
	require.Equal(t, link.Count[int64]{Packets: 4, Bytes: 4000, Dropped: 2, Deepest: 2000, Busy: 4000}, p.Count())
	left, ok := p.Send(6000, 1000, 10)
	require.True(t, ok)
	require.Equal(t, int64(16000), left)
}
