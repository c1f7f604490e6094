package schedule

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/verify"
)

// pairs is a collective that no other file knows. The root has a block for every odd rank, and that
// rank and the even one before it want the block. The collective needs a row and an algorithm.

const pairs = "pairscatter"

func init() {
	first := func(rank int) int { return rank / 2 }
	err := ir.Define(ir.Collective{
		Name:   pairs,
		Rooted: true,
		Blocks: func(ranks int) int { return (ranks + 1) / 2 },
		Held: func(ranks, root, rank int) ir.Blocks {
			if rank != root {
				return ir.Blocks{}
			}
			return ir.Blocks{First: 0, Step: 1, Count: (ranks + 1) / 2}
		},
		Wanted: func(_, _, rank int) ir.Blocks { return ir.Blocks{First: first(rank), Step: 1, Count: 1} },
	})
	if err != nil {
		panic(err)
	}
}

// pairscatter puts each block to both ranks that want it.
func pairscatter() Algorithm {
	return Algorithm{
		Name:       pairs + "/linear",
		Collective: pairs,
		Params:     []string{"root", "chunks"},
		size: func(n node) size {
			if n.rank == n.root {
				return size{rules: count(n.ranks > 1), slots: 1, acts: n.chunks * (n.ranks - 1)}
			}
			return size{slots: n.chunks}
		},
		fill: func(n node, a arena) ir.Program {
			if n.rank != n.root {
				for f := range n.chunks {
					a.wait(n.block(n.rank/2, f))
				}
				return a.program(&n, 0, a.span(0, n.chunks))
			}
			a.wait(ir.Enter)
			for f := range n.chunks {
				for rank := range n.ranks {
					if rank != n.root {
						a.put(n.block(rank/2, f), rank)
					}
				}
			}
			a.rule(a.span(0, 1))
			return a.program(&n, 0, a.span(0, 1))
		},
	}
}

// TestCollectiveOfOnesOwn checks that a row alone defines a collective: one that no other code
// knows is computed and proved, and broken schedules of it are refuted.
func TestCollectiveOfOnesOwn(t *testing.T) {
	for ranks := 1; ranks <= 9; ranks++ {
		for root := range ranks {
			for _, chunks := range []int{0, 1, 3} {
				s, err := newSpec(pairscatter(), Params{Ranks: ranks, Root: root, Chunks: chunks})
				require.NoError(t, err)
				require.Equal(t, max(1, chunks)*((ranks+1)/2), s.Header().Chunks)
				prove(t, s)
				var text bytes.Buffer
				require.NoError(t, ir.WriteText(&text, s.Schedule()))
				back, err := ir.ParseText(&text)
				require.NoError(t, err)
				require.Equal(t, s.Schedule(), back)
			}
		}
	}
	s, err := newSpec(pairscatter(), Params{Ranks: 6, Root: 1})
	require.NoError(t, err)
	broken := s.Schedule()
	do := broken.Programs[1].Rules[0].Do
	broken.Programs[1].Rules[0].Do = do[:len(do)-1]
	report, err := verify.Run(broken)
	require.NoError(t, err)
	require.ErrorContains(t, report.Err(), "coverage: rank 5 never gets c2")

	_, err = newSpec(pairscatter(), Params{Ranks: 6, Root: 6})
	require.ErrorContains(t, err, "root=6: must be in 0..5")
}
