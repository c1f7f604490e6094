package engine

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// plansOf returns the plans of an algorithm.
func plansOf(t testing.TB, name string, p schedule.Params) []Plan {
	spec, err := schedule.New(name, p)
	require.NoError(t, err)
	plans, err := Lower(spec.Schedule())
	require.NoError(t, err)
	return plans
}

// run executes plans with messages of random duration and at most posted receives at once. It
// requires that all ranks end. Each receive takes the message with its tag.
func run(t *rapid.T, plans []Plan, posted int) {
	type wire struct{ from, to, tag int }
	sent := make(map[wire]bool)
	need, ready := make([][]int, len(plans)), make([][]int, len(plans))
	window, next, fired, got := make([][]int, len(plans)), make([]int, len(plans)), make([]int, len(plans)), make([]int, len(plans))
	note := func(rank int, due []int32) {
		for _, rule := range due {
			need[rank][rule]--
			require.GreaterOrEqual(t, need[rank][rule], 0)
			if need[rank][rule] == 0 {
				ready[rank] = append(ready[rank], int(rule))
			}
		}
	}
	fire := func(rank int) {
		p := &plans[rank]
		for ; len(ready[rank]) > 0; fired[rank]++ {
			rule := ready[rank][0]
			ready[rank] = ready[rank][1:]
			for _, a := range p.Rules[rule].Actions {
				if a < 0 {
					note(rank, p.Folds[^a].Due)
					continue
				}
				w := wire{rank, p.Sends[a].Peer, p.Sends[a].Tag}
				require.False(t, sent[w], "two messages with one tag")
				sent[w] = true
			}
		}
	}
	for rank := range plans {
		for i, r := range plans[rank].Rules {
			need[rank] = append(need[rank], r.Need)
			if r.Need == 0 {
				ready[rank] = append(ready[rank], i)
			}
		}
		for ; next[rank] < min(posted, len(plans[rank].Receives)); next[rank]++ {
			window[rank] = append(window[rank], next[rank])
		}
		fire(rank)
	}
	for {
		type choice struct{ rank, slot int }
		var can []choice
		for rank := range plans {
			for slot, i := range window[rank] {
				if m := &plans[rank].Receives[i]; sent[wire{m.Peer, rank, m.Tag}] {
					can = append(can, choice{rank, slot})
				}
			}
		}
		if len(can) == 0 {
			break
		}
		c := rapid.SampledFrom(can).Draw(t, "message")
		p := &plans[c.rank]
		m := &p.Receives[window[c.rank][c.slot]]
		delete(sent, wire{m.Peer, c.rank, m.Tag})
		got[c.rank]++
		if window[c.rank] = slices.Delete(window[c.rank], c.slot, c.slot+1); next[c.rank] < len(p.Receives) {
			window[c.rank] = append(window[c.rank], next[c.rank])
			next[c.rank]++
		}
		note(c.rank, m.Due)
		fire(c.rank)
	}
	require.Empty(t, sent, "messages that nobody receives")
	for rank := range plans {
		require.Equal(t, len(plans[rank].Receives), got[rank], "rank %d waits for ever", rank)
		require.Equal(t, len(plans[rank].Rules), fired[rank], "rank %d has rules that never fire", rank)
	}
}

// TestPlansEnd checks that all messages are received and all rules fire, in every order, even if a
// rank posts one receive at a time.
func TestPlansEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alg := rapid.SampledFrom(schedule.Algorithms()).Draw(t, "algorithm")
		p := schedule.Params{Ranks: rapid.IntRange(1, 9).Draw(t, "ranks")}
		if slices.Contains(alg.Params, "root") {
			p.Root = rapid.IntRange(0, p.Ranks-1).Draw(t, "root")
		}
		if slices.Contains(alg.Params, "chunks") && rapid.Bool().Draw(t, "cut") {
			p.Chunks = rapid.IntRange(1, 3).Draw(t, "chunks") * alg.DefaultChunks(p.Ranks)
		}
		spec, err := schedule.New(alg.Name, p)
		require.NoError(t, err)
		plans, err := Lower(spec.Schedule())
		require.NoError(t, err)
		run(t, plans, rapid.SampledFrom([]int{1, 2, 100}).Draw(t, "posted"))
	})
}

// TestPlacesAreWrittenOnce checks that each slot comes by one message or fold, and that each place
// is written once.
func TestPlacesAreWrittenOnce(t *testing.T) {
	for _, alg := range schedule.Algorithms() {
		for _, ranks := range []int{1, 2, 5, 8} {
			for rank, p := range plansOf(t, alg.Name, schedule.Params{Ranks: ranks}) {
				written := make(map[Place]bool)
				write := func(place Place) {
					require.NotEqual(t, SendBuffer, place.Buffer(), "%s, rank %d", alg.Name, rank)
					require.False(t, written[place], "%s, rank %d writes place %d twice", alg.Name, rank, place)
					written[place] = true
				}
				for i := range p.Receives {
					for _, place := range p.Receives[i].Places {
						write(place)
					}
				}
				for i := range p.Folds {
					write(p.Folds[i].Made)
				}
				in := 0
				for place := range written {
					if place.Buffer() == ReceiveBuffer {
						in++
					}
				}
				if row := alg.Row(); row.Held == nil || row.Held(ranks, 0, rank) != row.Wanted(ranks, 0, rank) {
					require.Equal(t, p.Wanted*p.Per, in, "%s, rank %d of %d", alg.Name, rank, ranks)
				}
			}
		}
	}
}

// TestMulticastsAreMessages checks that a multicast is left out if puts bring its chunk, and is a
// message to each rank otherwise.
func TestMulticastsAreMessages(t *testing.T) {
	sends := func(name string, rank int) int {
		return len(plansOf(t, name, schedule.Params{Ranks: 9})[rank].Sends)
	}
	require.Equal(t, 1, sends("bcast/mcast-chain", 0))
	require.Equal(t, 8, sends("bcast/mcast-acktree", 0))
	require.Equal(t, 1, sends("bcast/mcast-acktree", 8)) // its acknowledgement
}

func TestLowerRefuses(t *testing.T) {
	s := &ir.Schedule{
		Header: ir.Header{Collective: "bcast", Algorithm: "late", Ranks: 2, Chunks: 1},
		Programs: []ir.Program{
			{Rank: 0, Rules: []ir.Rule{{When: []ir.Slot{ir.Enter}, Do: []ir.Action{ir.PutTo(ir.Signal(0), 1)}}}},
			{Rank: 1, Signals: 1, Done: []ir.Slot{ir.Chunk(0)}},
		},
	}
	_, err := Lower(s)
	require.EqualError(t, err, "rank 1 waits for c0, which nothing sets: the schedule deadlocks")

	s.Programs[0] = ir.Program{Rank: 0, Done: []ir.Slot{ir.Enter}, Rules: []ir.Rule{
		{When: []ir.Slot{ir.Enter}, Unless: ir.Signal(0), After: 1, Do: []ir.Action{ir.PutTo(ir.Chunk(0), 1)}}}, Signals: 1}
	_, err = Lower(s)
	require.EqualError(t, err, "rank 1 waits for c0, which nothing sets unless messages are lost")

	spec, err := schedule.New("bcast/chain", schedule.Params{Ranks: 2, Chunks: MaxTag + 2})
	require.NoError(t, err)
	_, err = Lower(spec.Schedule())
	require.EqualError(t, err, "rank 0 sends more messages to rank 1 than the 32768 tags that every MPI has")
}
