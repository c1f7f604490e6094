package machine_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
)

// alltoall is the program of a rank that puts one block to each other rank.
func alltoall(ranks, rank int) (ir.Header, ir.Program) {
	h := ir.Header{Collective: "alltoall", Algorithm: "linear", Ranks: ranks, Chunks: ranks * ranks}
	p := ir.Program{Rank: rank, Rules: []ir.Rule{{When: []ir.Slot{ir.Enter}}}}
	for i := 1; i < ranks; i++ {
		to := (rank + i) % ranks
		p.Rules[0].Do = append(p.Rules[0].Do, ir.PutTo(ir.Chunk(rank*ranks+to), to))
	}
	for from := range ranks {
		if from != rank {
			p.Done = append(p.Done, ir.Chunk(from*ranks+rank))
		}
	}
	return h, p
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// In an alltoall, a rank has the chunks that it holds and those that it wants.
func TestAlltoallTakesMemoryForItsOwnChunks(t *testing.T) {
	const ranks, rank = 1024, 77
	h, p := alltoall(ranks, rank)
	var m machine.Machine
	require.Less(t, allocated(func() {
		plan, err := machine.Compile(&h, &p)
		require.NoError(t, err)
		m.Reset(plan)
	}), uint64(1<<20), "%d chunks", h.Chunks)
	own, wanted, strange := ir.Chunk(rank*ranks+5), ir.Chunk(5*ranks+rank), ir.Chunk(5*ranks+6)
	require.True(t, m.Valid(own) && m.Valid(wanted) && m.Valid(ir.Chunk(rank*ranks+rank)))
	require.False(t, m.Valid(strange))
	require.False(t, m.Has(own))
	do, _ := m.Set(ir.Enter)
	require.Len(t, do, ranks-1)
	require.True(t, m.Has(own) && m.Has(ir.Chunk(rank*ranks+rank)))
	require.False(t, m.Has(wanted) || m.Has(strange))
	m.Set(strange)
	require.False(t, m.Has(strange), "it does not exist here")
	require.Len(t, m.Missing(), ranks-1)
	for _, c := range p.Done {
		require.True(t, m.Valid(c))
		require.False(t, m.Done())
		m.Set(c)
		require.True(t, m.Has(c))
	}
	require.True(t, m.Done() && m.Retired())
}

// A rank may want a chunk that its program does not name. The rank has it, and a multicast may
// bring it.
func TestChunksThatAProgramDoesNotName(t *testing.T) {
	plan := func(text string, rank int) *machine.Plan {
		s, err := ir.ParseText(strings.NewReader(text))
		require.NoError(t, err)
		plan, err := machine.Compile(&s.Header, &s.Programs[rank])
		require.NoError(t, err)
		return plan
	}
	var m machine.Machine
	m.Reset(plan("schedule gather/x ranks=2 root=0 chunks=4\nrank 0\n  done c3\nrank 1\n  enter -> put c2 c3 @0\n  done enter\n", 0))
	m.Set(ir.Enter)
	require.True(t, m.Has(ir.Chunk(1)), "it holds this one")
	require.True(t, m.Valid(ir.Chunk(2)))
	require.False(t, m.Has(ir.Chunk(2)))
	m.Set(ir.Chunk(2))
	require.True(t, m.Has(ir.Chunk(2)), "a second copy is not taken")
	require.False(t, m.Done())
	m.Set(ir.Chunk(3))
	require.True(t, m.Done())

	m.Reset(plan("schedule barrier/x ranks=2 chunks=2\nrank 0\n  enter -> mcast c0, mcast c1\n  done enter\nrank 1\n  done c1\n", 1))
	require.True(t, m.Valid(ir.Chunk(0)), "all ranks have what a barrier multicasts")
	require.False(t, m.Valid(ir.Chunk(2)))
}

// A header may claim as many chunks as possible.
func TestClaimsCostNothing(t *testing.T) {
	for _, h := range []ir.Header{
		{Collective: "bcast"}, {Collective: "scatter"}, {Collective: "gather"}, {Collective: "allgather"}, {Collective: "alltoall"}, {Collective: "barrier"},
	} {
		for rank := range 2 {
			t.Run(fmt.Sprintf("%s, rank %d", h.Collective, rank), func(t *testing.T) {
				h.Algorithm, h.Ranks, h.Chunks = "x", 2, ir.MaxChunks
				p := ir.Program{Rank: rank, Signals: ir.MaxSignals, Done: []ir.Slot{ir.Enter}}
				var wanted int
				lacks := h.Wanted(rank)
				for b := range lacks.Count {
					if held := h.Held(rank); !held.Has(lacks.At(b) * lacks.Per) {
						wanted += lacks.Per
					}
				}
				require.Less(t, allocated(func() {
					plan, err := machine.Compile(&h, &p)
					if wanted > 0 {
						require.ErrorContains(t, err, fmt.Sprintf("the rank wants %d chunks that it does not hold, and its program names at most 1", wanted))
						return
					}
					require.NoError(t, err)
					var m machine.Machine
					m.Reset(plan)
					m.Set(ir.Enter)
					require.Equal(t, h.Holds(rank, ir.MaxChunks-1), m.Has(ir.Chunk(ir.MaxChunks-1)))
					require.True(t, m.Done())
				}), uint64(1<<20))
			})
		}
	}
}

// BenchmarkAlltoall times the arrival of one block.
func BenchmarkAlltoall(b *testing.B) {
	h, p := alltoall(1024, 77)
	plan, err := machine.Compile(&h, &p)
	require.NoError(b, err)
	var m machine.Machine
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i %= len(p.Done); i == 0 {
			m.Reset(plan)
			m.Set(ir.Enter)
		}
		m.Set(p.Done[i])
	}
}
