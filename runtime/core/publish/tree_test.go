package publish

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// overlays returns the names of the algorithms whose messages are put along an overlay.
func overlays() (names []string) {
	for _, a := range schedule.Algorithms() {
		if a.Collective == schedule.Anycast && a.Name != "anycast/mcast-acktree" {
			names = append(names, a.Name)
		}
	}
	return names
}

// Messages arrive once and in the order of their origin along every overlay, and windows bound what
// waits for a process. A flush ends when all have arrived. A clone has the state of its original.
func TestTrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 9).Draw(t, "size")
		window := rapid.IntRange(1, 6).Draw(t, "window")
		const most, bound, each = 40, 100, 6
		e := newEther(t, rapid.SampledFrom(overlays()).Draw(t, "overlay"), size, Config{Window: window, Bytes: bound, MaxMessage: most})
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)) // a draw of each step would take most of the time
		text := func(origin int, seq uint64) []byte {
			return bytes.Repeat([]byte{byte(origin), byte(seq)}, int(uint64(7*origin)+5*seq)%(most/2+1))
		}
		taken, sent := make([][]uint64, size), make([]uint64, size)
		for r := range taken {
			taken[r] = make([]uint64, size)
		}
		for steps := 0; ; steps++ {
			require.Less(t, steps, 100_000, "it does not end")
			r := random.IntN(size)
			m := e.ends[r]
			if sent[r] < each && m.HasRoom() {
				m.Publish(text(r, sent[r]))
				sent[r]++
			}
			if busy := lanesOf(e.puts); len(busy) > 0 {
				e.carry(busy[random.IntN(len(busy))])
			}
			for m.Waiting() > 0 && random.IntN(2) == 0 {
				got := m.Take()
				require.Equal(t, taken[r][got.Origin], got.Seq, "rank %d, origin %d", r, got.Origin)
				require.Equal(t, text(got.Origin, got.Seq), append([]byte{}, got.Data...))
				taken[r][got.Origin]++
			}
			require.NoError(t, m.err)
			all := 0
			for origin := range size {
				if origin != r {
					waits := m.Came(origin) - taken[r][origin]
					require.LessOrEqual(t, waits, uint64(window), "rank %d keeps %d messages of rank %d", r, waits, origin)
					all += int(waits)
				}
			}
			require.Equal(t, m.Waiting(), all, "what has come and is not taken waits")
			if random.IntN(50) == 0 {
				n := m.Flush()
				require.Equal(t, sent[r], n)
				require.Equal(t, m.AppendState(nil), m.Clone(m, &m.roster).AppendState(nil))
			}
			if !slices.ContainsFunc(sent, func(n uint64) bool { return n < each }) && len(lanesOf(e.puts)) == 0 &&
				!slices.ContainsFunc(e.ends, func(m *member) bool { return m.Waiting() > 0 }) {
				break
			}
		}
		for r, m := range e.ends {
			n := m.Flush()
			for busy := lanesOf(e.puts); len(busy) > 0; busy = lanesOf(e.puts) {
				e.carry(busy[0])
			}
			require.True(t, m.Flushed(n), "rank %d", r)
			require.Equal(t, Counts{Published: each, Delivered: uint64(each * (size - 1))}, m.Counts())
		}
	})
}

// Ranks leave while messages are under way. Every other rank then gets all messages of the others,
// and learns that its own have come everywhere, not before they have. Or an end says which rank has
// cut them off.
func TestRanksLeaveTrees(t *testing.T) {
	cut, whole := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(2, 9).Draw(t, "size")
		e := newEther(t, rapid.SampledFrom(overlays()).Draw(t, "overlay"), size, Config{Window: 4, Bytes: 1000, MaxMessage: 10})
		leavers := rapid.SliceOfNDistinct(rapid.IntRange(0, size-1), 1, min(2, size-1), rapid.ID).Draw(t, "leavers")
		after := rapid.SliceOfN(rapid.IntRange(0, 60), size, size).Draw(t, "after") // by rank: steps before it leaves
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		const each = 5
		sent := make([]int, size)
		left, flushes := make([]bool, size), make([]bool, size)
		remains := func(r int) bool { return !slices.Contains(leavers, r) }
		for steps, idle := 0, 0; idle < 200; steps++ {
			require.Less(t, steps, 100_000, "it does not end")
			idle++
			r := random.IntN(size)
			m := e.ends[r]
			if busy := lanesOf(e.puts); len(busy) > 0 {
				lane := busy[random.IntN(len(busy))]
				if to := lane % size; left[to] || e.ends[to].err != nil {
					e.puts[lane] = e.puts[lane][1:]
				} else {
					e.carry(lane)
				}
				idle = 0
			}
			if left[r] || m.err != nil {
				continue
			}
			if !remains(r) && steps >= after[r] {
				m.Farewells()
				left[r], idle = true, 0
				continue
			}
			for _, leaver := range leavers {
				if left[leaver] && !m.roster.Gone(leaver) && len(e.puts[leaver*size+r]) == 0 { // the goodbye follows all other frames
					m.roster.Leave(leaver, 0, 0)
					m.Left(leaver)
					idle = 0
				}
			}
			if m.err == nil && sent[r] < each && m.HasRoom() {
				m.Publish([]byte{byte(r), byte(sent[r])})
				sent[r]++
				idle = 0
			}
			if m.err == nil && sent[r] == each && !flushes[r] {
				flushes[r], idle = true, 0
				require.EqualValues(t, each, m.Flush())
			}
			if m.err == nil && flushes[r] && m.Flushed(each) {
				for other, o := range e.ends {
					require.True(t, other == r || left[other] || o.err != nil || o.Came(r) == each, "rank %d has flushed what rank %d lacks", r, other)
				}
			}
			for m.err == nil && m.Waiting() > 0 {
				m.Take()
				idle = 0
			}
		}
		for r, m := range e.ends {
			if m.err != nil {
				require.ErrorContains(t, m.err, "has left", "rank %d", r)
				cut++
				return // the others hear of this failure by other frames
			}
		}
		whole++
		for r, m := range e.ends {
			require.True(t, !remains(r) || m.Flushed(each), "rank %d waits for its flush", r)
			for origin := range size {
				if remains(r) && origin != r && remains(origin) {
					require.Equal(t, uint64(each), m.Came(origin), "messages of rank %d at rank %d", origin, r)
				}
			}
		}
	})
	require.NotZero(t, cut)
	require.NotZero(t, whole)
}

// A rank that leaves when it has passed on all messages cuts nobody off, whether or not the processes
// have taken them and credits have said so.
func TestFarewellsOfTrees(t *testing.T) {
	const size = 7
	for _, name := range overlays() {
		for leaver := 1; leaver < size; leaver++ {
			for _, taken := range []bool{false, true} {
				e := newEther(t, name, size, Config{Window: 4, Bytes: 1000, MaxMessage: 10})
				e.ends[0].Publish([]byte("x"))
				e.carryAll()
				for _, m := range e.ends {
					for taken && m.Waiting() > 0 {
						m.Take()
					}
				}
				e.carryAll()
				e.ends[leaver].Farewells()
				e.carryAll()
				for rank, m := range e.ends {
					if rank != leaver {
						m.roster.Leave(leaver, 0, 0)
						m.Left(leaver)
						require.NoError(t, m.err, "%s: rank %d leaves, rank %d", name, leaver, rank)
					}
				}
			}
		}
	}
}

// chain is an overlay of four ranks in which each rank passes messages on to the next one.
type chain struct{}

func (chain) Channels(dst []int, rank int) []int {
	if rank < 3 {
		dst = append(dst, rank+1)
	}
	return dst
}

func (c chain) Forward(dst []int, rank, _, _ int) []int { return c.Channels(dst, rank) }

// A flush asks the ranks behind a rank that has left whether they have what it has passed on.
func TestFlushBehindARankThatHasLeft(t *testing.T) {
	e := etherOf(4, Config{Window: 4, Bytes: 1000, MaxMessage: 10, Overlay: chain{}})
	from := e.ends[0]
	from.Publish([]byte("x"))
	e.carry(0*4 + 1)
	e.ends[1].Farewells()
	e.carry(1*4 + 0)
	from.roster.Leave(1, 0, 0)
	from.Left(1)
	require.NoError(t, from.err)
	n := from.Flush()
	require.EqualValues(t, 1, n)
	require.False(t, from.Flushed(n), "the message is on its way to rank 2")
	e.carry(1*4 + 2)
	e.carry(0*4 + 2)
	require.False(t, from.Flushed(n), "the message is on its way to rank 3")
	e.carryAll()
	require.True(t, from.Flushed(n))
}

// A rank that is asked about messages that cannot come any more fails the flush, whether it hears
// first of the question or of the rank that has left.
func TestFlushOfMessagesThatCannotCome(t *testing.T) {
	for _, early := range []bool{true, false} {
		c := etherOf(4, Config{Window: 4, Bytes: 1000, MaxMessage: 10, Overlay: chain{}}).ends[3]
		leaves := func() {
			c.roster.Leave(2, 0, 0)
			c.Left(2)
			require.Equal(t, early, c.err == nil)
		}
		if early {
			leaves()
		}
		c.Arrived(&wire.Header{Kind: wire.FrameFlush, Lane: wire.LaneControl, Epoch: 1, Print: 1, Seq: 1, Slot: 2, From: 0})
		if !early {
			require.NoError(t, c.err)
			leaves()
		}
		require.EqualError(t, c.err, "flush: rank 2 has left, and it has not passed on all messages of rank 0 to rank 3")
	}
}

// A frame that no correct rank sends fails the communicator.
func TestHostileRanksOfTrees(t *testing.T) {
	header := func(k wire.FrameKind, arg uint32, seq uint64, slot, n int) wire.Header {
		return wire.Header{Kind: k, Lane: wire.LaneControl, Epoch: 1, Print: 1, Arg: arg, Seq: seq, Slot: ir.Slot(slot), Len: n, From: 1}
	}
	cfg := Config{Window: 4, Bytes: 1000, MaxMessage: 100}
	for want, h := range map[string]wire.Header{
		"message of origin 9 with 1 bytes":                   header(wire.FramePublish, 9, 0, 0, 1),
		"message of origin 0 with 1 bytes":                   header(wire.FramePublish, 0, 0, 0, 1),
		"message of origin 1 with 101 bytes":                 header(wire.FramePublish, 1, 0, 0, 101),
		"message 1 of origin 1 instead of 0":                 header(wire.FramePublish, 1, 1, 0, 1),
		"credit for origin 7":                                header(wire.FrameCredit, 7, 0, 0, 0),
		"credit for 1 messages of origin 0":                  header(wire.FrameCredit, 0, 1, 0, 0),
		"question about messages of origin 0":                header(wire.FrameFlush, 0, 0, 1, 0),
		"question about messages of origin 1 that come by":   header(wire.FrameFlush, 1, 0, 9, 0),
		"question about 1 messages of origin 1 that come by": header(wire.FrameFlush, 1, 1, 1, 0),
		"answer about messages of origin 7":                  header(wire.FrameFlushed, 7, 0, 0, 0),
		"answer about 1 messages of origin 0":                header(wire.FrameFlushed, 0, 1, 0, 0),
		"farewell about messages of origin 7":                header(wire.FramePassed, 7, 0, 0, 0),
		"1 messages of origin 0 passed on":                   header(wire.FramePassed, 0, 1, 0, 0),
		"frame kind 24 about messages that are put":          header(wire.FrameAck, 0, 0, 0, 0),
	} {
		e := newEther(t, "anycast/skip-ring", 4, cfg)
		e.ends[0].deliver(&h, make([]byte, h.Len))
		require.ErrorContains(t, e.ends[0].err, want)
	}
	for _, k := range []wire.FrameKind{wire.FramePublish, wire.FrameFlush, wire.FrameAck, wire.FrameListen} {
		e := newEther(t, "anycast/skip-ring", 4, cfg)
		h := header(k, 1, 0, 0, 0)
		h.Print = 7
		e.ends[0].deliver(&h, nil)
		require.True(t, e.ends[0].disagrees, "kind %d", k)
	}
	require.False(t, newEther(t, "anycast/skip-ring", 4, cfg).ends[0].Fragment(&wire.Header{From: 1}, 0, nil), "no message is multicast")
}
