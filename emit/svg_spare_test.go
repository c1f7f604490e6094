package emit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
)

// asking returns a broadcast in which rank 0 repairs each of the others, rank k after k timeouts,
// and rank 1 asks rank 2 for the chunk that it lacks.
func asking(ranks int) *ir.Schedule {
	c0, s0 := ir.Chunk(0), ir.Signal(0)
	s := &ir.Schedule{Header: ir.Header{Collective: "bcast", Algorithm: "asking", Ranks: ranks, Chunks: 1}}
	s.Programs = make([]ir.Program, ranks)
	root := &s.Programs[0]
	root.Signals, root.Done = ranks, []ir.Slot{ir.Enter}
	root.Rules = []ir.Rule{{When: []ir.Slot{ir.Enter}, Do: []ir.Action{ir.McastOf(c0)}}}
	for r := 1; r < ranks; r++ {
		ack := ir.Signal(r)
		if r == ranks-1 {
			ack = s0
		}
		root.Rules = append(root.Rules, ir.Rule{When: []ir.Slot{ir.Enter}, Unless: ack, After: r, Do: []ir.Action{ir.PutTo(c0, r)}})
		s.Programs[r] = ir.Program{Rank: r, Signals: 1, Done: []ir.Slot{c0}, Rules: []ir.Rule{{When: []ir.Slot{c0}, Do: []ir.Action{ir.PutTo(ack, 0)}}}}
	}
	s.Programs[1].Rules = append(s.Programs[1].Rules, ir.Rule{When: []ir.Slot{ir.Enter}, Unless: c0, Do: []ir.Action{ir.PutTo(s0, 2)}})
	s.Programs[2].Rules = append(s.Programs[2].Rules, ir.Rule{When: []ir.Slot{c0, s0}, Do: []ir.Action{ir.PutTo(c0, 1)}})
	return s
}

func TestRepairsRequestsAndAnswersLookDifferent(t *testing.T) {
	svg := svgOf(t, asking(4))
	for _, c := range []class{repair, request, answer} {
		require.Contains(t, svg, `class="`+looks[c].id+` likely"`)
		require.Contains(t, svg, looks[c].name, "the legend")
	}
	for _, label := range []string{">if lost<", ">answers<", ">at once<", ">after 1<", ">after 2<", ">after 3<"} {
		require.Contains(t, svg, label)
	}
	require.Contains(t, svg, "Only if something is lost: 3 repairs, 1 request and 1 answer.")
	svg = svgOf(t, asking(9))
	require.Contains(t, svg, ">after 1–8<", "many time-outs share a band")
}
