package verify

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
)

// downstreamOnly are algorithms that flow downstream, whatever their parameters.
var downstreamOnly = []string{"bcast/linear", "bcast/binomial", "bcast/chain", "bcast/scatter-allgather", "scatter/linear", "scatter/binomial"}

// TestDownstreamGivesWhatSlotsGive compares proofs of one rank after the other with proofs of whole
// schedules, word for word, for all algorithms.
func TestDownstreamGivesWhatSlotsGive(t *testing.T) {
	for _, alg := range Algorithms() {
		t.Run(alg.Name, func(t *testing.T) {
			for _, ranks := range heavy.Or([]int{1, 2, 5, 8}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 32}) {
				for _, p := range []Params{
					{Ranks: ranks}, {Ranks: ranks, Chunks: 3}, {Ranks: ranks, Root: ranks / 3},
					{Ranks: ranks, Root: ranks - 1, Chunks: 5}, {Ranks: ranks, Root: ranks / 2, Hosts: 1 + ranks/3},
				} {
					spec, err := NewSpec(alg.Name, p)
					if err != nil {
						continue
					}
					report := proveDownstream(spec.Header(), spec.Maker, Checks())
					if report == nil {
						require.False(t, ranks > 1 && slices.Contains(downstreamOnly, alg.Name), "%+v", p)
						continue
					}
					full, err := Run(spec.Schedule())
					require.NoError(t, err)
					require.Equal(t, full, report, "%+v", p)
				}
			}
		})
	}
}

// TestMutantsDownstream checks that a mutant is proved rank by rank only if it is right, and then with
// the same words.
func TestMutantsDownstream(t *testing.T) {
	proved, refuted := 0, 0
	all := mutations()
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(2, 9).Draw(t, "ranks")
		spec, err := NewSpec(rapid.SampledFrom(downstreamOnly).Draw(t, "algorithm"),
			Params{Ranks: ranks, Chunks: rapid.SampledFrom([]int{0, 2, 5}).Draw(t, "chunks"), Root: rapid.IntRange(0, ranks-1).Draw(t, "root")})
		require.NoError(t, err)
		for range 10 {
			m := &mutant{clone(spec.Schedule()), rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))}
			if rapid.IntRange(0, 9).Draw(t, "mutate") > 0 {
				rapid.SampledFrom(all).Draw(t, "mutation").apply(m)
			}
			full, err := Run(m.Schedule)
			require.NoError(t, err)
			report := proveDownstream(m.Header, makerOf(m.Schedule), Checks())
			switch {
			case report != nil:
				proved++
				require.NoError(t, full.Err())
				require.Equal(t, full, report)
			case full.Err() != nil:
				refuted++
			}
		}
	})
	require.Positive(t, proved)
	require.Positive(t, refuted)
}

// TestRandomDownstream compares the proofs for schedules in which each rank gets each chunk from any
// rank nearer to the root, which may wait for other chunks, too.
func TestRandomDownstream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks, chunks := rapid.IntRange(2, 20).Draw(t, "ranks"), rapid.IntRange(1, 4).Draw(t, "chunks")
		root := rapid.IntRange(0, ranks-1).Draw(t, "root")
		s := &ir.Schedule{Header: ir.Header{Collective: "bcast", Algorithm: "random", Ranks: ranks, Chunks: chunks, Root: root}, Programs: make([]ir.Program, ranks)}
		for at := range ranks {
			rank := (root + at) % ranks
			p := &s.Programs[rank]
			p.Rank = rank
			for k := range chunks {
				p.Done = append(p.Done, ir.Chunk(k))
				if at == 0 {
					continue
				}
				from := (root + rapid.IntRange(0, at-1).Draw(t, "from")) % ranks
				r := ir.Rule{When: []ir.Slot{ir.Enter}, Do: []ir.Action{ir.PutTo(ir.Chunk(k), rank)}}
				if from != root {
					r.When = []ir.Slot{ir.Chunk(k)}
					if also := rapid.IntRange(0, chunks-1).Draw(t, "also"); also != k {
						r.When = append(r.When, ir.Chunk(also))
					}
				}
				s.Programs[from].Rules = append(s.Programs[from].Rules, r)
			}
		}
		s.Programs[root].Done = []ir.Slot{ir.Enter}
		full, err := Run(s)
		require.NoError(t, err)
		require.NoError(t, full.Err())
		require.Equal(t, full, proveDownstream(s.Header, makerOf(s), Checks()))
	})
}

// A put to a rank nearer to the root is seen, although that rank has been examined by then.
func TestUpstreamIsNotDownstream(t *testing.T) {
	spec, err := NewSpec("bcast/linear", Params{Ranks: 7})
	require.NoError(t, err)
	s := clone(spec.Schedule())
	s.Programs[3].Rules = []ir.Rule{{When: []ir.Slot{ir.Chunk(0)}, Do: []ir.Action{ir.PutTo(ir.Chunk(0), 2)}}}
	full, err := Run(s)
	require.NoError(t, err)
	require.ErrorContains(t, full.Err(), "once: rank 2 gets c0 twice")
	require.Nil(t, proveDownstream(s.Header, makerOf(s), Checks()))
	s.Programs[3].Rules[0].Do[0] = ir.PutTo(ir.Chunk(0), 4)
	s.Programs[0].Rules[0].Do = slices.DeleteFunc(s.Programs[0].Rules[0].Do, func(a ir.Action) bool { return a.To == 4 })
	require.NotNil(t, proveDownstream(s.Header, makerOf(s), Checks()), "rank 3 puts to rank 4 in place of rank 0")
}

func makerOf(s *ir.Schedule) func() func(rank int) ir.Program {
	return func() func(rank int) ir.Program { return func(rank int) ir.Program { return s.Programs[rank] } }
}
