package verify_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/verify"
)

// alltoall returns a schedule in which each rank puts its block to each other rank. The puts go all
// at once, or, if pairwise, the put to rank r+i goes when the block of rank r-i+1 has come.
func alltoall(ranks int, pairwise bool) *ir.Schedule {
	s := &ir.Schedule{Header: ir.Header{Collective: "alltoall", Algorithm: "linear", Ranks: ranks, Chunks: ranks * ranks}}
	for r := range ranks {
		p := ir.Program{Rank: r}
		var do []ir.Action
		for i := 1; i < ranks; i++ {
			to, before := (r+i)%ranks, (r-i+1+ranks)%ranks
			put := ir.PutTo(ir.Chunk(r*ranks+to), to)
			switch {
			case !pairwise:
				do = append(do, put)
			case i == 1:
				p.Rules = append(p.Rules, ir.Rule{When: []ir.Slot{ir.Enter}, Do: []ir.Action{put}})
			default:
				p.Rules = append(p.Rules, ir.Rule{When: []ir.Slot{ir.Enter, ir.Chunk(before*ranks + r)}, Do: []ir.Action{put}})
			}
		}
		if do != nil {
			p.Rules = []ir.Rule{{When: []ir.Slot{ir.Enter}, Do: do}}
		}
		for from := range ranks {
			if from != r {
				p.Done = append(p.Done, ir.Chunk(from*ranks+r))
			}
		}
		if p.Done == nil {
			p.Done = []ir.Slot{ir.Enter}
		}
		s.Programs = append(s.Programs, p)
	}
	return s
}

func TestAlltoallIsProved(t *testing.T) {
	for ranks := 1; ranks <= 65; ranks = 2*ranks - ranks%2 + 1 {
		for _, pairwise := range []bool{false, true} {
			report, err := verify.Run(alltoall(ranks, pairwise))
			require.NoError(t, err)
			require.NoError(t, report.Err(), "%d ranks", ranks)
			require.Equal(t, ranks*(ranks-1), report.Cost.Messages)
			rounds := min(1, ranks-1)
			if pairwise {
				rounds = ranks - 1
			}
			require.Equal(t, rounds, report.Cost.Rounds)
		}
	}
}

// BenchmarkAlltoall1024 proves a million blocks in at most 30 s and 8 GiB.
func BenchmarkAlltoall1024(b *testing.B) {
	for _, pairwise := range []bool{false, true} {
		b.Run(fmt.Sprintf("pairwise=%v", pairwise), func(b *testing.B) {
			prove(b, alltoall(1024, pairwise), 30*time.Second, 8<<30)
		})
	}
}
