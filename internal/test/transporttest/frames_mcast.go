package transporttest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// collector assembles the fragments of chunks.
type collector struct {
	t      testing.TB
	chunks map[uint64][]byte // by Seq
	seen   map[uint64]int    // bytes
	heads  map[uint64]wire.Header
}

func newCollector(t testing.TB, s *sink) *collector {
	c := &collector{t: t, chunks: map[uint64][]byte{}, seen: map[uint64]int{}, heads: map[uint64]wire.Header{}}
	s.fragment = c.collect
	return c
}

func (c *collector) collect(h *wire.Header, offset int, payload []byte) wire.Verdict {
	if c.chunks[h.Seq] == nil {
		c.chunks[h.Seq] = make([]byte, h.Len)
		c.heads[h.Seq] = *h
	}
	if h.Len != len(c.chunks[h.Seq]) || offset < 0 || offset+len(payload) > h.Len {
		c.t.Errorf("%d bytes at %d of a chunk of %d", len(payload), offset, h.Len)
		return wire.Drop
	}
	copy(c.chunks[h.Seq][offset:], payload)
	c.seen[h.Seq] += len(payload)
	return wire.Accept
}

// has reports whether chunk seq of n bytes has come whole.
func (c *collector) has(seq uint64, n int) bool {
	return c.chunks[seq] != nil && c.seen[seq] == n
}

func multicastOnly(t *testing.T, n *net) {
	if !n.ranks[0].Caps().Multicast {
		t.Skip("no multicast")
	}
}

// testMcast sends chunks until every length has arrived everywhere once. Copies may be lost, but
// arrivals must be right.
func testMcast(t *testing.T, with Make) {
	n := connect(t, with, 3)
	unsent := 1
	if !n.ranks[0].Caps().Multicast {
		f := slot(1, []byte("lost"))
		f.Unsent = &unsent
		n.ranks[0].Mcast(f)
		require.Zero(t, unsent)
		return
	}
	got := []*collector{}
	for _, s := range n.sinks {
		got = append(got, newCollector(t, s))
	}
	size := n.ranks[0].Caps().Datagram
	require.Positive(t, size)
	for i, length := range []int{0, 1, size - 1, size, size + 1, 3*size + 17} {
		checkMcast(n, got, uint64(i)*1000, length)
	}
	n.quiesce()
	require.Empty(t, got[1].chunks, "own datagrams have come back")
	require.Positive(t, n.ranks[1].Stats().McastFrames)
	require.Positive(t, n.ranks[0].Stats().GotDatagrams)
}

// checkMcast sends a chunk from rank 1 until the others have a complete one.
func checkMcast(n *net, got []*collector, seq uint64, length int) {
	whole := map[int]bool{}
	body := pattern(int(seq), length)
	for try := seq; len(whole) < 2; try++ {
		require.Less(n.t, try, seq+1000, "no chunk of %d bytes has arrived whole", length)
		unsent := 1
		f := slot(try, body)
		f.Slot, f.Print, f.Epoch, f.Unsent = ir.Chunk(length), 77, 5, &unsent
		n.ranks[1].Mcast(f)
		n.until(func() bool { return unsent == 0 }, "the chunk is sent")
		n.settle(func() bool { return got[0].has(try, length) && got[2].has(try, length) })
		for _, rank := range []int{0, 2} {
			if got[rank].has(try, length) {
				want := f.Header
				want.From = 1
				require.Equal(n.t, want, got[rank].heads[try])
				require.True(n.t, bytes.Equal(body, got[rank].chunks[try]))
				whole[rank] = true
			}
		}
	}
}

// testMcastHold checks that held datagrams are offered again, and that puts flow meanwhile.
func testMcastHold(t *testing.T, with Make) {
	n := connect(t, with, 2)
	multicastOnly(t, n)
	c, held, open := newCollector(t, n.sinks[1]), 0, false
	n.sinks[1].fragment = func(h *wire.Header, offset int, payload []byte) wire.Verdict {
		if !open {
			held++
			return wire.Hold
		}
		return c.collect(h, offset, payload)
	}
	body := pattern(3, 500)
	for seq := uint64(1); held == 0; seq++ {
		require.Less(t, seq, uint64(1000), "nothing arrives")
		n.ranks[0].Mcast(slot(seq, body))
		n.quiesce()
	}
	n.put(0, 1, slot(1, nil))
	n.until(func() bool { return n.count() == 1 }, "a put has passed held datagrams")
	open = true
	n.until(func() bool { return len(c.chunks) > 0 }, "held datagrams have come again")
	for _, chunk := range c.chunks {
		require.Equal(t, body, chunk)
	}
}

func testMcastNoAllocation(t *testing.T, with Make) {
	n := connect(t, with, 2)
	multicastOnly(t, n)
	frames := 0
	n.sinks[1].fragment = func(*wire.Header, int, []byte) wire.Verdict {
		frames++
		return wire.Accept
	}
	unsent := 0
	f := slot(1, pattern(1, 3*n.ranks[0].Caps().Datagram))
	f.Unsent = &unsent
	round := func() {
		unsent = 1
		n.ranks[0].Mcast(f)
		for range 20 {
			n.poll()
		}
	}
	for range 20 {
		round()
	}
	require.Zero(t, testing.AllocsPerRun(50, round))
	require.Zero(t, unsent)
	require.Positive(t, frames)
}

// testDatagram sends to one rank until every length has arrived there once, and nothing elsewhere.
func testDatagram(t *testing.T, with Make) {
	n := connect(t, with, 3)
	unsent := 1
	if !n.ranks[0].Caps().Direct {
		f := slot(1, []byte("lost"))
		f.Unsent = &unsent
		n.ranks[0].Datagram(1, f)
		require.Zero(t, unsent)
		return
	}
	got := []*collector{}
	for _, s := range n.sinks {
		got = append(got, newCollector(t, s))
	}
	size := n.ranks[0].Caps().Datagram
	for i, length := range []int{0, 1, size, 2*size + 17} {
		body, seq := pattern(i, length), uint64(i)*1000
		for try := seq; !got[2].has(try, length); try++ {
			require.Less(t, try, seq+1000, "no body of %d bytes has arrived whole", length)
			unsent, seq = 1, try
			f := slot(try, body)
			f.Kind, f.Arg, f.Unsent = wire.FrameWant, 9, &unsent
			n.ranks[1].Datagram(2, f)
			n.until(func() bool { return unsent == 0 }, "it is sent")
			n.settle(func() bool { return got[2].has(try, length) })
			if got[2].has(try, length) {
				want := f.Header
				want.From, want.Lane = 1, got[2].heads[try].Lane
				require.Equal(t, want, got[2].heads[try])
				require.True(t, bytes.Equal(body, got[2].chunks[try]))
				break
			}
		}
	}
	n.quiesce()
	require.Empty(t, got[0].chunks)
	require.Empty(t, got[1].chunks)
	require.Positive(t, n.ranks[1].Stats().DatagramFrames)
	require.Zero(t, n.ranks[1].Stats().McastFrames)
}

func testDatagramNoAllocation(t *testing.T, with Make) {
	n := connect(t, with, 2)
	if !n.ranks[0].Caps().Direct {
		t.Skip("no datagrams to one rank")
	}
	frames, unsent := 0, 0
	n.sinks[1].fragment = func(*wire.Header, int, []byte) wire.Verdict {
		frames++
		return wire.Accept
	}
	f := slot(1, pattern(1, 3*n.ranks[0].Caps().Datagram))
	f.Unsent = &unsent
	round := func() {
		unsent = 1
		n.ranks[0].Datagram(1, f)
		for range 20 {
			n.poll()
		}
	}
	for range 20 {
		round()
	}
	require.Zero(t, testing.AllocsPerRun(50, round))
	require.Zero(t, unsent)
	require.Positive(t, frames)
}
