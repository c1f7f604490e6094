package publish

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/runtime/core/internal/moment"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Some ranks leave while multicasts are under way and are lost. Every other rank then gets all
// messages of the others, in order, and all are acknowledged. It also gets the messages of a rank
// that leaves alone. If several leave, an end may say that the messages of one have been cut off.
func TestRanksLeaveMulticasts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(2, 9).Draw(t, "size")
		leavers := rapid.SliceOfNDistinct(rapid.IntRange(0, size-1), 1, min(3, size-1), rapid.ID).Draw(t, "leavers")
		after := rapid.SliceOfN(rapid.IntRange(0, 150), size, size).Draw(t, "after") // by rank: steps before it leaves
		loss := rapid.IntRange(0, 60).Draw(t, "loss")
		multicast := rapid.IntRange(0, 4).Draw(t, "multicast") > 0
		const each = 5
		e := newEther(t, "anycast/mcast-acktree", size, Config{
			Window: 4, Bytes: 100, MaxMessage: 20, Caps: wire.Caps{Multicast: multicast, Datagram: 8, Room: 32},
		})
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		sent, taken := make([]uint64, size), make([][]uint64, size)
		for r := range taken {
			taken[r] = make([]uint64, size)
		}
		left := make([]bool, size)
		remains := func(r int) bool { return !slices.Contains(leavers, r) }
		over := func() bool {
			for r, m := range e.ends {
				if remains(r) && (sent[r] < each || m.multicast().own().all().here < each || m.Timed() || m.Waiting() > 0) {
					return false
				}
				for _, leaver := range leavers {
					if !left[leaver] || remains(r) && !m.roster.Gone(leaver) {
						return false
					}
				}
			}
			return len(e.grams) == 0 && len(lanesOf(e.puts)) == 0
		}
		now := moment.Time(1)
		for steps := 0; !over(); steps++ {
			require.Less(t, steps, 100_000, "it does not end")
			now += moment.Time(random.IntN(5)) * 1e6
			r := random.IntN(size)
			m := e.ends[r]
			if busy := lanesOf(e.puts); len(busy) > 0 {
				if lane := busy[random.IntN(len(busy))]; left[lane%size] {
					e.puts[lane] = nil
				} else {
					e.carry(lane)
				}
			}
			if n := len(e.grams); n > 0 {
				i := random.IntN(min(n, 4))
				g := e.grams[i]
				e.grams = slices.Delete(e.grams, i, i+1)
				if random.IntN(100) >= loss && !left[g.to] {
					e.offer(g)
				}
			}
			if left[r] {
				continue
			}
			if !remains(r) && steps >= after[r] {
				m.Farewells()
				left[r] = true
				continue
			}
			for _, leaver := range leavers {
				if left[leaver] && !m.roster.Gone(leaver) && len(e.puts[leaver*size+r]) == 0 { // the goodbye follows all other frames
					m.roster.Leave(leaver, 0, 0)
					m.Left(leaver)
				}
			}
			if sent[r] < each && m.HasRoom() {
				m.Publish(slices.Repeat([]byte{byte(sent[r])}, int(5*sent[r])))
				sent[r]++
			}
			m.Tick(now)
			for m.Waiting() > 0 && random.IntN(2) == 0 {
				got := m.Take()
				require.Equal(t, taken[r][got.Origin], got.Seq, "rank %d, origin %d", r, got.Origin)
				require.Equal(t, slices.Repeat([]byte{byte(got.Seq)}, int(5*got.Seq)), append([]byte{}, got.Data...))
				taken[r][got.Origin]++
			}
			if m.err != nil {
				require.Greater(t, len(leavers), 1, "rank %d: %v", r, m.err)
				require.ErrorContains(t, m.err, "so have all ranks that would pass on its messages")
				return // the others hear of this failure by other frames
			}
		}
		for r := range e.ends {
			for origin := range size {
				if remains(r) && r != origin && (remains(origin) || len(leavers) == 1) {
					require.Equal(t, sent[origin], taken[r][origin], "messages of rank %d at rank %d", origin, r)
				}
			}
		}
	})
}

// If all ranks above have left, a message that is known to exist cannot come any more.
func TestNoRankIsLeftToAsk(t *testing.T) {
	e := newEther(t, "anycast/mcast-acktree", 4, roomy) // the tree of rank 0: 0 -> 2 -> 3
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
	require.EqualError(t, c.err, "publish: rank 0 has left, and so have all ranks that would pass on its messages to rank 3")
}

// A rank that waits for messages connects with the ranks that send to it, once, without those that
// have left.
func TestListen(t *testing.T) {
	for name, sources := range map[string][]int{"anycast/mcast-acktree": {0, 2, 4}, "anycast/skip-ring": nil} {
		e := newEther(t, name, 5, roomy)
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
