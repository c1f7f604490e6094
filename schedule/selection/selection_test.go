package selection_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/model/loggp"
	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		of    selection.Case
		want  string
		hosts int
	}{
		{selection.Case{Collective: "barrier", Ranks: 1}, "barrier/dissemination", 0},
		{selection.Case{Collective: "barrier", Ranks: 2}, "barrier/dissemination", 0},
		{selection.Case{Collective: "barrier", Ranks: 3}, "barrier/hsb", 0},
		{selection.Case{Collective: "barrier", Ranks: 8, Hosts: 2}, "barrier/hsb", 2},
		{selection.Case{Collective: "barrier", Ranks: 3, Place: selection.OneHost}, "barrier/hsb", 0},
		{selection.Case{Collective: "barrier", Ranks: 3, Place: selection.OneEach}, "barrier/dissemination", 0},
		{selection.Case{Collective: "barrier", Ranks: 1000, Place: selection.OneEach}, "barrier/dissemination", 0},
		{selection.Case{Collective: "bcast", Ranks: 2, Bytes: 65535, Multicast: true, Place: selection.OneEach}, "bcast/binomial", 0},
		{selection.Case{Collective: "bcast", Ranks: 2, Bytes: 65536, Multicast: true, Place: selection.OneEach}, "bcast/chain", 0},
		{selection.Case{Collective: "bcast", Ranks: 2, Bytes: 1, Multicast: true}, "bcast/mcast-chain", 0},
		{selection.Case{Collective: "bcast", Ranks: 3, Bytes: 4095, Multicast: true, Place: selection.OneEach}, "bcast/binomial", 0},
		{selection.Case{Collective: "bcast", Ranks: 3, Bytes: 4096, Multicast: true, Place: selection.OneEach}, "bcast/mcast-acktree", 0},
		{selection.Case{Collective: "bcast", Ranks: 15, Bytes: 256<<10 - 1, Multicast: true, Place: selection.OneEach}, "bcast/mcast-acktree", 0},
		{selection.Case{Collective: "bcast", Ranks: 15, Bytes: 256 << 10, Multicast: true, Place: selection.OneEach}, "bcast/mcast-chain", 0},
		{selection.Case{Collective: "bcast", Ranks: 4, Bytes: 1, Multicast: true, Place: selection.OneEach}, "bcast/mcast-chain", 0},
		{selection.Case{Collective: "bcast", Ranks: 8, Bytes: 65535}, "bcast/binomial", 0},
		{selection.Case{Collective: "bcast", Ranks: 8, Bytes: 65536, Hosts: 4}, "bcast/chain", 4},
		{selection.Case{Collective: "bcast", Ranks: 8, Bytes: 65536, Hosts: 4, Multicast: true}, "bcast/mcast-chain", 0},
		{selection.Case{Collective: "bcast", Ranks: 8, Bytes: 65536, Hosts: 4, Multicast: true, Place: selection.OneEach}, "bcast/mcast-acktree", 0},
		{selection.Case{Collective: "bcast", Ranks: 64, Bytes: 65536, Multicast: true, Place: selection.OneHost}, "bcast/linear", 0},
		{selection.Case{Collective: "bcast", Ranks: 65, Bytes: 65536, Multicast: true, Place: selection.OneHost}, "bcast/mcast-chain", 0},
		{selection.Case{Collective: "bcast", Ranks: 5, Bytes: 1 << 20, Multicast: true, Place: selection.OneHost}, "bcast/linear", 0},
		{selection.Case{Collective: "bcast", Ranks: 5, Bytes: 1 << 20, Place: selection.OneHost}, "bcast/linear", 0},
		{selection.Case{Collective: "bcast", Ranks: 65, Bytes: 1 << 20, Place: selection.OneHost}, "bcast/binomial", 0},
		{selection.Case{Collective: "bcast", Ranks: 65, Bytes: 1000, Place: selection.OneHost}, "bcast/binomial", 0},
		{selection.Case{Collective: "bcast", Ranks: 5, Bytes: 8192, Multicast: true, Memory: true, Place: selection.OneHost}, "bcast/linear", 0},
		{selection.Case{Collective: "bcast", Ranks: 5, Bytes: 8193, Multicast: true, Memory: true, Place: selection.OneHost}, "bcast/linear", 0},
		{selection.Case{Collective: "bcast", Ranks: 5, Bytes: 512 << 10, Multicast: true, Memory: true, Place: selection.OneHost}, "bcast/linear", 0},
		{selection.Case{Collective: "bcast", Ranks: 5, Bytes: 512 << 10, Multicast: true, Memory: true, Pace: slowPulls, Place: selection.OneHost}, "bcast/mcast-acktree", 0},
		{selection.Case{Collective: "bcast", Ranks: 5, Bytes: 512 << 10, Memory: true, Pace: slowPulls, Place: selection.OneHost}, "bcast/linear", 0},
		{selection.Case{Collective: "bcast", Ranks: 2, Bytes: 512 << 10, Multicast: true, Memory: true, Pace: slowPulls, Place: selection.OneHost}, "bcast/mcast-acktree", 0},
		{selection.Case{Collective: "anycast", Ranks: 8}, "anycast/skip-ring", 0},
		{selection.Case{Collective: "anycast", Ranks: 8, Multicast: true}, "anycast/skip-ring", 0},
		{selection.Case{Collective: "anycast", Ranks: 8, Place: selection.OneEach}, "anycast/skip-ring", 0},
		{selection.Case{Collective: "anycast", Ranks: 2, Multicast: true, Place: selection.OneEach}, "anycast/skip-ring", 0},
		{selection.Case{Collective: "anycast", Ranks: 3, Multicast: true, Place: selection.OneEach}, "anycast/mcast-acktree", 0},
		{selection.Case{Collective: "anycast", Ranks: 64, Multicast: true, Place: selection.OneEach}, "anycast/mcast-acktree", 0},
		{selection.Case{Collective: "anycast", Ranks: 65, Multicast: true, Place: selection.OneEach}, "anycast/skip-ring", 0},
	} {
		d, ok := selection.Builtin().Of(c.of)
		require.True(t, ok)
		require.True(t, d.Own)
		require.Equal(t, c.want, d.Rule.Algorithm, "%+v", c.of)
		require.Equal(t, c.hosts, d.Rule.Params.HostsFor(&c.of), "%+v", c.of)
		require.NotEmpty(t, d.Rule.Reason)
	}
	_, ok := selection.Builtin().Of(selection.Case{Collective: "collect", Ranks: 8})
	require.False(t, ok)
}

// TestEveryCaseHasARule checks that every case of a known collective has a rule whose algorithm
// accepts the rule's parameters.
func TestEveryCaseHasARule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := selection.Case{
			Collective: rapid.SampledFrom([]string{schedule.Bcast, schedule.Barrier, schedule.Anycast}).Draw(t, "collective"),
			Ranks:      rapid.IntRange(1, 5000).Draw(t, "ranks"),
			Bytes:      rapid.IntRange(0, 1<<30).Draw(t, "bytes"),
			Multicast:  rapid.Bool().Draw(t, "multicast"),
		}
		c.Hosts = rapid.IntRange(0, c.Ranks).Draw(t, "hosts")
		d, ok := selection.Builtin().Of(c)
		require.True(t, ok)
		spec, err := schedule.New(d.Rule.Algorithm, schedule.Params{Ranks: c.Ranks, Hosts: d.Rule.Params.HostsFor(&c)})
		require.NoError(t, err)
		require.Equal(t, c.Collective, spec.Algorithm().Collective)
	})
}

// TestBarrierOfOneRankAHost checks the built-in rules if every rank has a host to itself. Their
// barrier takes at most 1.3 times as long as the best tree, exchange or dissemination of any degree
// up to 16, on each of three machines of the LogGP model.
func TestBarrierOfOneRankAHost(t *testing.T) {
	machines := map[string]loggp.Params{
		"LogGOPSim's defaults": loggp.Defaults(),
		"TCP in the kernel":    {L: 20000, O: 5000, Gap: 1000, GPerByte: 8},
		"InfiniBand":           {L: 1000, O: 300, Gap: 100, GPerByte: 1},
	}
	takes := func(t *testing.T, machine loggp.Params, algorithm string, p schedule.Params) loggp.Time {
		spec, err := schedule.New(algorithm, p)
		require.NoError(t, err)
		result, err := loggp.Run(spec.Schedule(), machine, 1)
		require.NoError(t, err)
		return result.Makespan
	}
	for name, machine := range machines {
		for _, ranks := range []int{2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17, 20, 25, 31, 32, 36, 37, 48, 64, 65, 100} {
			best := takes(t, machine, "barrier/hsb", schedule.Params{Ranks: ranks})
			for degree := 2; degree <= 16; degree++ {
				best = min(best,
					takes(t, machine, "barrier/dissemination", schedule.Params{Ranks: ranks, Degree: degree}),
					takes(t, machine, "barrier/exchange", schedule.Params{Ranks: ranks, Degree: degree}),
					takes(t, machine, "barrier/hsb", schedule.Params{Ranks: ranks, FanIn: degree, FanOut: degree}))
			}
			d, ok := selection.Builtin().Of(selection.Case{Collective: schedule.Barrier, Ranks: ranks, Place: selection.OneEach})
			require.True(t, ok)
			chosen := takes(t, machine, d.Rule.Algorithm, schedule.Params{Ranks: ranks, Degree: d.Rule.Params.Degree})
			require.LessOrEqual(t, float64(chosen), 1.3*float64(best), "%s, %d ranks", name, ranks)
		}
	}
}

func TestChunks(t *testing.T) {
	for _, c := range []struct{ n, datagram, most, want int }{
		{0, 0, 0, 1}, {1, 0, 0, 1}, {32 << 10, 0, 0, 1}, {32<<10 + 1, 0, 0, 2}, {1 << 30, 0, 0, 1024},
		{1452, 1452, 0, 1}, {1453, 1452, 0, 2}, {64 << 10, 60 << 10, 0, 2}, {10, 1452, 3, 4}, {1<<40 - 1, 0, 1 << 30, 1024}, {1<<63 - 1, 0, 1 << 62, 1 << 20},
	} {
		m := selection.Message{Algorithm: "bcast/binomial", Ranks: 8, Bytes: c.n, Links: true, Datagram: c.datagram, Most: c.most}
		require.Equal(t, c.want, selection.Chunks(m), "%+v", c)
		m.Algorithm, m.Links = "bcast/chain", false
		require.Equal(t, c.want, selection.Chunks(m), "%+v", c)
	}
}

// TestChunksOfTheRootAlone checks that a message that only the root puts is not cut, because no
// rank waits to pass it on. Between hosts it is cut, because the puts take turns there.
func TestChunksOfTheRootAlone(t *testing.T) {
	for n, want := range map[int]int{0: 1, 1 << 20: 1, 1<<20 + 1: 2, 1 << 30: 1024, 1 << 40: 1024} {
		require.Equal(t, want, selection.Chunks(selection.Message{Algorithm: "bcast/linear", Ranks: 8, Bytes: n, Datagram: 1452}))
	}
	require.Equal(t, 32, selection.Chunks(selection.Message{Algorithm: "bcast/linear", Ranks: 8, Bytes: 1 << 20, Links: true}))
	for _, n := range []int{1, 64 << 10, 1 << 20} {
		require.Equal(t, 16, selection.Chunks(selection.Message{Algorithm: "bcast/scatter-allgather", Ranks: 16, Bytes: n}), "a piece for each rank")
	}
	require.Equal(t, 64, selection.Chunks(selection.Message{Algorithm: "bcast/scatter-allgather", Ranks: 16, Bytes: 1 << 20, Most: 16 << 10}))
}

// TestChunksInMemory checks that chunks that ranks copy from the sender's buffer are long, and as
// many as fit windows. Chunks of multicasts are not.
func TestChunksInMemory(t *testing.T) {
	for _, c := range []struct{ ranks, n, most, want int }{
		{2, 0, 0, 1}, {2, 512 << 10, 0, 1}, {2, 1 << 30, 0, 1}, {1, 1 << 30, 0, 1},
		{3, 32 << 10, 0, 1}, {3, 64 << 10, 0, 2}, {3, 64<<10 + 1, 0, 1}, {3, 128 << 10, 0, 1}, {3, 128<<10 + 1, 0, 2}, {3, 512 << 10, 0, 4}, {64, 1 << 30, 0, 16}, {3, 512 << 10, 1 << 10, 512},
	} {
		m := selection.Message{Algorithm: "bcast/linear", Ranks: c.ranks, Bytes: c.n, Memory: true, Datagram: 64 << 10, Most: c.most}
		require.Equal(t, c.want, selection.Chunks(m), "%+v", c)
		m.Algorithm = "bcast/chain"
		require.Equal(t, c.want, selection.Chunks(m), "%+v", c)
	}
	require.Equal(t, 16, selection.Chunks(selection.Message{Algorithm: "bcast/mcast-chain", Ranks: 3, Bytes: 512 << 10, Memory: true, Datagram: 64 << 10}))
}

// TestChunksFitFrames checks that each chunk of a message of any length fits a frame, as long as a
// schedule can have enough chunks. A PiB takes half of them.
func TestChunksFitFrames(t *testing.T) {
	for _, n := range []int{1, selection.MaxChunk, selection.MaxChunk + 1, 1 << 31, 2 * selection.MaxChunk, 2*selection.MaxChunk + 1, 1 << 40, 1 << 47, 1 << 50} {
		for _, a := range schedule.Algorithms() {
			for _, ranks := range []int{1, 2, 3, 64} {
				for _, m := range []selection.Message{{Memory: true}, {Links: true}, {Datagram: 1452}, {}, {Most: 1 << 40}, {Most: 7}} {
					m.Algorithm, m.Ranks, m.Bytes = a.Name, ranks, n
					require.LessOrEqual(t, (n-1)/selection.Chunks(m)+1, selection.MaxChunk, "%+v", m)
				}
			}
		}
	}
	for own := range 100 {
		require.Zero(t, selection.AtLeast(1+own, 1<<40)%(1+own))
		require.Equal(t, 1+own, selection.AtLeast(1+own, (1+own)*selection.MaxChunk))
		require.Greater(t, selection.AtLeast(1+own, (1+own)*selection.MaxChunk+1), 1+own)
	}
	require.LessOrEqual(t, selection.AtLeast(3, math.MaxInt), schedule.MaxChunks)
	require.Positive(t, selection.AtLeast(schedule.MaxChunks, math.MaxInt))
}

// TestChunksOfTheSymmetricBroadcast checks that the symmetric broadcast to p ranks has p fragments,
// or a multiple if the message is long and adapters write it. A small message goes in one step, as paper 004, §3, advises, wherever the ranks are and whatever
// a rule says.
func TestChunksOfTheSymmetricBroadcast(t *testing.T) {
	for _, c := range []struct{ ranks, n, want int }{
		{1, 0, 1}, {1, 1 << 30, 1}, {2, 0, 1}, {2, 1 << 30, 1},
		{3, 0, 1}, {3, 1024, 1}, {3, 1025, 2},
		{8, 0, 1}, {8, 2, 1}, {8, 597, 1}, {8, 598, 7}, {8, 512 << 10, 7},
		{15, 2, 1}, {15, 551, 1}, {15, 552, 14}, {1000, 512, 1}, {1000, 513, 999},
	} {
		for _, m := range []selection.Message{{}, {Links: true}, {Memory: true}, {Datagram: 1452}, {Most: 100}} {
			m.Algorithm, m.Ranks, m.Bytes = "bcast/symmetric", c.ranks, c.n
			require.Equal(t, c.want, selection.Chunks(m), "%+v", m)
		}
	}
	require.Equal(t, 84, selection.Chunks(selection.Message{Algorithm: "bcast/symmetric", Ranks: 8, Bytes: 512 << 10, Links: true, RDMA: true}))
	require.Equal(t, 7, selection.Chunks(selection.Message{Algorithm: "bcast/symmetric", Ranks: 8, Bytes: 2 << 10, Links: true, RDMA: true}))
}

// TestSmallMessagesTakeOneStep checks that the broadcast takes one step if that takes no longer
// than fragments, by the bytes that cross a link.
func TestSmallMessagesTakeOneStep(t *testing.T) {
	const cost = 512
	rapid.Check(t, func(t *rapid.T) {
		p, n := rapid.IntRange(2, 200).Draw(t, "destinations"), rapid.IntRange(0, 4<<10).Draw(t, "bytes")
		step := float64(p) * float64(n+cost)
		fragments := float64(2*p-1) * (float64(n)/float64(p) + cost)
		got := selection.Chunks(selection.Message{Algorithm: "bcast/symmetric", Ranks: p + 1, Bytes: n})
		if step < fragments-float64(p) { // bytes are whole
			require.Equal(t, 1, got)
		} else if step > fragments+float64(p) {
			require.Equal(t, p, got)
		}
	})
}

func TestChunksOfAPipelineOverLinks(t *testing.T) {
	for _, c := range []struct{ ranks, n, datagram, most, want int }{
		{15, 512 << 10, 0, 0, 115}, {15, 512 << 10, 1424, 0, 115}, {15, 512 << 10, 1424, 1000, 525},
		{2, 512 << 10, 0, 0, 16}, {1, 512 << 10, 0, 0, 16}, {3, 512 << 10, 0, 0, 32}, {15, 0, 0, 0, 1},
		{15, 16 << 20, 0, 0, 653}, {3, 16 << 20, 0, 0, 512}, {1000, 512 << 10, 0, 0, 1011}, {1000, 1 << 40, 0, 0, 1024}, {1000, 1 << 62, 0, 0, 1 << 20},
	} {
		m := selection.Message{Algorithm: "bcast/chain", Ranks: c.ranks, Bytes: c.n, Links: true, Datagram: c.datagram, Most: c.most}
		require.Equal(t, c.want, selection.Chunks(m), "%+v", c)
	}
}

// TestPipelineIsCutBest checks that no other number of chunks makes a pipeline faster, unless its chunks
// cost more than their bytes.
func TestPipelineIsCutBest(t *testing.T) {
	const cost = 512
	rapid.Check(t, func(t *rapid.T) {
		p, n := rapid.IntRange(2, 200).Draw(t, "ranks"), rapid.IntRange(1<<10, 1<<20).Draw(t, "bytes")
		took := func(chunks int) float64 { return float64(p-2+chunks) * (float64(n)/float64(chunks) + cost) }
		c := selection.Chunks(selection.Message{Algorithm: "bcast/chain", Ranks: p, Bytes: n, Links: true})
		least := (n + 32<<10 - 1) / (32 << 10)
		other := rapid.IntRange(max(least, 1), max(least, 1, min(1024, n/cost))).Draw(t, "other")
		require.LessOrEqual(t, took(c), took(other)*(1+1e-9))
	})
}
