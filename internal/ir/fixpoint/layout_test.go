package fixpoint_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
)

// alltoall returns a schedule in which each rank puts its block to each other rank.
func alltoall(ranks int) *ir.Schedule {
	s := &ir.Schedule{Header: ir.Header{Collective: "alltoall", Algorithm: "linear", Ranks: ranks, Chunks: ranks * ranks}}
	for r := range ranks {
		p := ir.Program{Rank: r, Rules: []ir.Rule{{When: when(ir.Enter)}}}
		for i := 1; i < ranks; i++ {
			to := (r + i) % ranks
			p.Rules[0].Do = append(p.Rules[0].Do, ir.PutTo(ir.Chunk(r*ranks+to), to))
		}
		for from := range ranks {
			if from != r {
				p.Done = append(p.Done, ir.Chunk(from*ranks+r))
			}
		}
		s.Programs = append(s.Programs, p)
	}
	return s
}

// inverts checks that PlaceOf and Slot are inverse to each other. It also compares the slots of the
// layout with the definition, using maps.
func inverts(t *testing.T, s *ir.Schedule) {
	t.Helper()
	l, err := fixpoint.NewLayout(s)
	require.NoError(t, err)
	want := make(map[fixpoint.Place]bool)
	mention := func(rank int, slots ...ir.Slot) {
		for _, slot := range slots {
			want[fixpoint.Place{Rank: rank, Slot: slot}] = true
		}
	}
	for r := range s.Programs {
		p := &s.Programs[r]
		mention(r, ir.Enter)
		mention(r, p.Done...)
		for _, rule := range p.Rules {
			mention(r, rule.When...)
			if rule.IsRepair() {
				mention(r, rule.Unless)
			}
			for _, a := range rule.Do {
				if a.Slot.Kind() == ir.KindChunk {
					mention(r, a.Slot)
				}
				for to := range s.Programs {
					if a.Op == ir.Mcast || int(a.To) == to {
						mention(to, a.Slot)
					}
				}
			}
		}
	}
	require.Equal(t, len(want), l.Slots())
	last := fixpoint.Place{Rank: -1}
	for id := range l.Slots() {
		p := l.PlaceOf(id)
		require.True(t, want[p], "%v", p)
		require.Equal(t, id, l.Slot(p.Rank, p.Slot), "%v", p)
		require.True(t, p.Rank > last.Rank || p.Rank == last.Rank && p.Slot > last.Slot, "%v after %v", p, last)
		last = p
	}
	for r := range s.Programs {
		var held []int
		for k := range s.Held(r).All() {
			if id := l.Slot(r, ir.Chunk(k)); id >= 0 {
				held = append(held, id)
			}
		}
		var got []int
		for id := range l.Held(s, r) {
			got = append(got, id)
		}
		require.Equal(t, held, got)
	}
}

// TestLayoutNumbersMentionedSlots checks that a rank has exactly the slots that the schedule
// mentions.
func TestLayoutNumbersMentionedSlots(t *testing.T) {
	for ranks := 1; ranks < 20; ranks++ {
		inverts(t, alltoall(ranks))
	}
	for seed := range heavy.Seeds(1000) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		s := randomSchedule(rnd)
		s.Chunks = 1 + rnd.IntN(9)
		for r := range s.Programs {
			for i := range s.Programs[r].Rules {
				for j := range s.Programs[r].Rules[i].Do {
					if a := &s.Programs[r].Rules[i].Do[j]; a.Slot.Kind() == ir.KindChunk {
						a.Slot = ir.Chunk(rnd.IntN(s.Chunks))
					}
				}
			}
		}
		inverts(t, s)
	}
}

func TestAlltoallAmongManyRanks(t *testing.T) {
	const ranks = 512
	s := alltoall(ranks)
	res, err := fixpoint.Run(s, fixpoint.Model{})
	require.NoError(t, err, "%d chunks", s.Chunks)
	require.Equal(t, ranks*(1+2*(ranks-1)), res.Layout().Slots(), "enter, the blocks of others at both ends")
	for _, rank := range []int{0, 1, ranks / 2, ranks - 1} {
		for other := range ranks {
			want := 1
			if other == rank {
				want = 0 // no program mentions it
			}
			require.Equal(t, want, res.Slot(rank, ir.Chunk(other*ranks+rank)), "rank %d, from rank %d", rank, other)
			require.Zero(t, res.Slot(rank, ir.Chunk(rank*ranks+other)), "its own")
		}
		require.Equal(t, -1, res.Slot(rank, ir.Chunk((rank+1)%ranks*ranks+(rank+2)%ranks)), "that of others")
	}
	require.Equal(t, 1, res.Rounds())
}

// TestClaimsCostNothing checks that chunks that no program mentions cost nothing, even if the
// header claims as many as possible.
func TestClaimsCostNothing(t *testing.T) {
	for _, collective := range []string{"bcast", "scatter", "gather", "allgather", "alltoall", "barrier"} {
		for _, multicast := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, multicast: %v", collective, multicast), func(t *testing.T) {
				s := bcast([]ir.Rule{rule(when(ir.Enter), ir.PutTo(ir.Chunk(ir.MaxChunks/2), 1))}, nil)
				s.Collective, s.Chunks = collective, ir.MaxChunks
				if multicast {
					s.Programs[0].Rules[0].Do[0] = ir.McastOf(ir.Chunk(ir.MaxChunks / 2))
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				res, err := fixpoint.Run(s, fixpoint.Model{})
				runtime.ReadMemStats(&after)
				require.NoError(t, err)
				require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
				require.GreaterOrEqual(t, res.Slot(1, ir.Chunk(ir.MaxChunks/2)), 0)
			})
		}
	}
}

func TestTooManySlotsAreAnError(t *testing.T) {
	s := bcast(make([][]ir.Rule, 1<<12)...)
	s.Chunks = 1 << 15
	var do []ir.Action
	for k := range s.Chunks {
		do = append(do, ir.McastOf(ir.Chunk(k)))
	}
	s.Programs[0].Rules = []ir.Rule{{When: when(ir.Enter), Do: do}}
	_, err := fixpoint.Run(s, fixpoint.Model{})
	require.ErrorContains(t, err, "more than 67108864 slots: 32768 chunks are multicast to 4096 ranks")
}
