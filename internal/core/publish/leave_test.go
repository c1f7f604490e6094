package publish

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Some ranks leave while messages are under way, and multicasts are lost. They tell only the ranks
// that must hear of it. Another rank learns it when it cannot connect, or loses the connection. Every
// rank that remains gets
// all messages of the others, in order, and a flush ends when they have come everywhere, not before.
// It also gets the messages of a rank that leaves alone. If several leave, an end may say that the
// messages of one have been cut off.
func TestRanksLeave(t *testing.T) {
	whole := make(map[string]int)
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(2, 20).Draw(t, "size")
		leavers := rapid.SliceOfNDistinct(rapid.IntRange(0, size-1), 1, min(6, size-1), rapid.ID).Draw(t, "leavers")
		after := rapid.SliceOfN(rapid.IntRange(0, 500), size, size).Draw(t, "after") // by rank: steps before it leaves
		loss := rapid.IntRange(0, 60).Draw(t, "loss")
		multicast := rapid.Bool().Draw(t, "multicast")
		name := "anycast/mcast-acktree"
		if !multicast {
			name = rapid.SampledFrom(anycasts()).Draw(t, "overlay")
		}
		const each = 5
		e := newClub(t, name, size, Config{
			Window: 4, Bytes: 100, MaxMessage: 20, Caps: wire.Caps{Multicast: multicast, Datagram: 8, Room: 32},
		})
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		sent, taken := make([]uint64, size), make([][]uint64, size)
		told, met := make([][]bool, size), make([][]bool, size) // by leaver and rank; met: a put has come from one to the other
		flushes := make([]bool, size)
		for r := range taken {
			taken[r], told[r], met[r] = make([]uint64, size), make([]bool, size), make([]bool, size)
		}
		left := make([]bool, size)
		remains := func(r int) bool { return !slices.Contains(leavers, r) }
		over := func() bool {
			for r, m := range e.ends {
				if remains(r) && (sent[r] < each || !flushes[r] || !m.Flushed(each) || m.Timed() || m.Waiting() > 0) {
					return false
				}
				for _, leaver := range leavers {
					if !left[leaver] || remains(r) && (told[leaver][r] || met[leaver][r]) && !m.roster.Gone(leaver) {
						return false
					}
				}
			}
			return len(e.Grams) == 0 && len(e.Busy()) == 0
		}
		now := moment.Time(1)
		for steps := 0; !over(); steps++ {
			require.Less(t, steps, 100_000, "it does not end")
			now += moment.Time(random.IntN(5)) * 1e6
			r := random.IntN(size)
			m := e.ends[r]
			if busy := e.Busy(); len(busy) > 0 {
				lane := busy[random.IntN(len(busy))]
				from, to := e.Ends(lane)
				met[from][to], met[to][from] = true, true
				if !left[to] {
					e.carry(from, to)
				} else {
					e.Lanes[lane] = nil
				}
			}
			if n := len(e.Grams); n > 0 {
				i := random.IntN(min(n, 4))
				g := e.Grams[i]
				e.Grams = slices.Delete(e.Grams, i, i+1)
				if random.IntN(100) >= loss && !left[g.To] {
					e.offer(g)
				}
			}
			if left[r] {
				continue
			}
			if !remains(r) && steps >= after[r] {
				m.Farewells()
				for _, to := range m.Parting(nil) {
					told[r][to] = true
				}
				for distance := 1; distance < size; distance *= 2 { // package core does this: see presence.Near
					told[r][(r-distance+size)%size] = true
				}
				left[r] = true
				continue
			}
			for _, leaver := range leavers {
				if !left[leaver] || m.roster.Gone(leaver) || len(*e.Lane(leaver, r, wire.LaneControl)) > 0 { // the goodbye follows all other frames
					continue
				}
				if !told[leaver][r] && met[leaver][r] {
					require.True(t, m.MayLeave(leaver), "rank %d is connected with rank %d, which has left without telling it", r, leaver)
				}
				if told[leaver][r] || met[leaver][r] {
					m.roster.Leave(leaver, 0, 0)
					m.Left(leaver)
				}
			}
			if sent[r] < each && m.HasRoom(0) {
				m.Publish(slices.Repeat([]byte{byte(sent[r])}, int(5*sent[r])))
				sent[r]++
			}
			if sent[r] == each && !flushes[r] {
				flushes[r] = true
				require.EqualValues(t, each, m.Flush())
			}
			if flushes[r] && m.Flushed(each) {
				for other, o := range e.ends {
					require.True(t, other == r || left[other] || o.Came(r) == each, "rank %d has flushed what rank %d lacks", r, other)
				}
			}
			m.Tick(now)
			for m.Waiting() > 0 && random.IntN(2) == 0 {
				got := m.Take()
				require.Equal(t, taken[r][got.Origin], got.Seq, "rank %d, origin %d", r, got.Origin)
				require.Equal(t, slices.Repeat([]byte{byte(got.Seq)}, int(5*got.Seq)), append([]byte{}, got.Data...))
				taken[r][got.Origin]++
			}
			for r, m := range e.ends {
				if m.err != nil {
					require.Greater(t, len(leavers), 1, "rank %d: %v", r, m.err)
					require.ErrorContains(t, m.err, "so have all ranks that would pass on its messages")
					return // the others hear of this failure by other frames
				}
			}
		}
		for r := range e.ends {
			for origin := range size {
				if remains(r) && r != origin && (remains(origin) || len(leavers) == 1) {
					require.Equal(t, sent[origin], taken[r][origin], "messages of rank %d at rank %d", origin, r)
				}
			}
		}
		whole[name]++
	})
	require.Len(t, whole, len(anycasts()))
}

// If all ranks above have left, a message that is known to exist cannot come any more.
func TestNoRankIsLeftToAsk(t *testing.T) {
	e := newClub(t, "anycast/mcast-acktree", 4, roomy) // the tree of rank 0: 0 -> 2 -> 3
	c := e.ends[3]
	e.ends[0].Publish([]byte("x"))
	e.pass()
	e.ends[0].Publish([]byte("y"))
	e.pass(3)
	for _, rank := range []int{2, 0} {
		require.NoError(t, c.err)
		c.roster.Leave(rank, 0, 0)
		c.Left(rank)
		c.Tick(1)
		c.Tick(3e6)
	}
	require.EqualError(t, c.err, "rank 0 has left, and so have all ranks that would pass on its messages to rank 3")
}

// A rank that waits for messages connects with the ranks that send to it, once, without those that
// have left.
func TestListen(t *testing.T) {
	for name, sources := range map[string][]int{"anycast/mcast-acktree": {0, 2, 4}, "anycast/skip-ring": nil} {
		e := newClub(t, name, 5, roomy)
		c := e.ends[1]
		if sources == nil {
			sources = slices.DeleteFunc(c.Sources(), func(rank int) bool { return rank == 3 })
		}
		c.roster.Leave(3, 0, 0)
		c.Listen()
		c.Listen()
		for rank := range e.ends {
			var want []string
			if slices.Contains(sources, rank) {
				want = []string{said(wire.FrameListen, 0, 0, 0)}
			}
			require.Equal(t, want, e.frames(1, rank), "%s, rank %d", name, rank)
		}
	}
}

// chain is an overlay of four ranks in which each rank passes messages of rank 0 on to the next one.
type chain struct{}

func (chain) Channels(dst []int, rank int) []int {
	if rank < 3 {
		dst = append(dst, rank+1)
	}
	return dst
}

func (c chain) Forward(dst []int, rank, _, _ int) []int { return c.Channels(dst, rank) }
func (chain) Sender(rank, _ int) int                    { return max(0, rank-1) }

var short = Config{Window: 4, Bytes: 1000, MaxMessage: 10, Overlay: chain{}}

// A flush asks the ranks behind a rank that has left whether they have what it has passed on.
func TestFlushBehindARankThatHasLeft(t *testing.T) {
	e := clubOf(4, short)
	from := e.ends[0]
	from.Publish([]byte("x"))
	e.carry(0, 1)
	from.roster.Leave(1, 0, 0)
	from.Left(1)
	require.NoError(t, from.err)
	n := from.Flush()
	require.EqualValues(t, 1, n)
	require.False(t, from.Flushed(n), "the message is on its way to rank 2")
	e.carry(1, 2)
	e.ends[2].roster.Leave(1, 0, 0)
	e.ends[2].Left(1)
	require.False(t, from.Flushed(n), "the message is on its way to rank 3")
	*e.Lane(0, 1, wire.LaneControl), *e.Lane(1, 0, wire.LaneControl) = nil, nil
	e.carryAll()
	require.True(t, from.Flushed(n))
}

// A message that a rank has not passed on before it left comes from the rank above it.
func TestMessageThatWasNotPassedOn(t *testing.T) {
	e := clubOf(4, short)
	e.ends[0].Publish([]byte("x")) // rank 1 leaves before it comes
	for _, rank := range []int{0, 2} {
		e.ends[rank].roster.Leave(1, 0, 0)
		e.ends[rank].Left(1)
	}
	*e.Lane(0, 1, wire.LaneControl) = nil
	e.carryAll()
	require.Equal(t, 1, e.ends[3].Waiting())
}

// A rank that is asked about messages that cannot come any more fails.
func TestFlushOfMessagesThatCannotCome(t *testing.T) {
	c := clubOf(4, short).ends[3]
	c.Arrived(&wire.Header{Kind: wire.FrameFlush, Lane: wire.LaneControl, Epoch: 1, Print: 1, Seq: 1, From: 2})
	for rank := 2; rank >= 0; rank-- {
		require.NoError(t, c.err)
		c.roster.Leave(rank, 0, 0)
		c.Left(rank)
	}
	require.EqualError(t, c.err, "rank 0 has left, and so have all ranks that would pass on its messages to rank 3")
}

// A rank that waits for messages connects with the ranks that take the place of a source, too, and
// these tell it when they leave.
func TestSourcesOfASource(t *testing.T) {
	e := clubOf(4, short)
	c := e.ends[2]
	c.Listen()
	require.Equal(t, []int{1}, c.Sources())
	c.roster.Leave(1, 0, 0)
	c.Left(1)
	require.Equal(t, []int{1, 0}, c.Sources())
	require.False(t, c.MayLeave(3))
	require.True(t, c.MayLeave(0))
	e.carry(2, 0)
	require.Contains(t, e.ends[0].Parting(nil), 2)
}
