package verify_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/verify"
)

// ring returns an allgather in which each rank passes on what its predecessor puts to it.
func ring(ranks int) *ir.Schedule {
	s := &ir.Schedule{Header: ir.Header{Collective: "allgather", Algorithm: "ring", Ranks: ranks, Chunks: ranks}}
	for r := range ranks {
		p := ir.Program{Rank: r}
		next := (r + 1) % ranks
		for d := range ranks - 1 {
			c := ir.Chunk((r - d + ranks) % ranks)
			when := c
			if d == 0 {
				when = ir.Enter
			}
			p.Rules = append(p.Rules, ir.Rule{When: []ir.Slot{when}, Do: []ir.Action{ir.PutTo(c, next)}})
		}
		for k := range ranks {
			if k != r {
				p.Done = append(p.Done, ir.Chunk(k))
			}
		}
		s.Programs = append(s.Programs, p)
	}
	return s
}

func TestRingIsProved(t *testing.T) {
	for ranks := 2; ranks <= 9; ranks++ {
		report, err := verify.Run(ring(ranks))
		require.NoError(t, err)
		require.NoError(t, report.Err(), "%d ranks", ranks)
		require.Equal(t, ranks*(ranks-1), report.Cost.Messages)
		require.Equal(t, float64(ranks*(ranks-1)), report.Cost.Bytes, "blocks")
		require.Equal(t, ranks-1, report.Cost.Rounds)
	}
}

// TestFaultsOfCollectives checks that the same faults are found in all collectives, because the
// checks ask the row what a collective does.
func TestFaultsOfCollectives(t *testing.T) {
	for text, want := range map[string]string{
		// A gap: rank 1 never gets block 2.
		`schedule allgather/x ranks=3 chunks=3
rank 0
  enter -> put c0 @1, put c0 @2
  done c1 c2
rank 1
  enter -> put c1 @0, put c1 @2
  done c0
rank 2
  enter -> put c2 @0
  done c0 c1
`: "coverage: rank 1 never gets c2",
		// A rank returns while a block is still on its way to it.
		`schedule gather/x ranks=3 root=2 chunks=3
rank 0
  enter -> put c0 @2
  done enter
rank 1
  enter -> put c1 @2
  done enter
rank 2
  done c0
`: "coverage: rank 2 may return before it has c1",
		// A rank puts a block of another rank that it does not have.
		`schedule alltoall/x ranks=2 chunks=4
rank 0
  enter -> put c1 @1
  done c2
rank 1
  enter -> put c1 c2 @0
  done c1
`: "wellformed: rank 1 may put c1 without having it",
		// The bundle is one slot short.
		`schedule scatter/x ranks=3 root=0 chunks=6
rank 0
  enter -> put c2 c3 @1, put c4 @2
  done enter
rank 1
  done c2 c3
rank 2
  done c4 c5
`: "coverage: rank 2 never gets c5",
		// A block comes to the rank that holds it.
		`schedule allgather/x ranks=2 chunks=2
rank 0
  enter -> put c0 @1
  c1 -> put c1 @1
  done c1
rank 1
  enter -> put c1 @0
  done c0
`: "once: rank 0 puts c1 to rank 1 which has it",
	} {
		s, err := ir.ParseText(strings.NewReader(text))
		require.NoError(t, err, text)
		report, err := verify.Run(s)
		require.NoError(t, err)
		require.ErrorContains(t, report.Err(), want, text)
	}
}

// TestRecoveryOfWhatIsWanted checks that a rank needs a rank to ask only for chunks that it wants.
func TestRecoveryOfWhatIsWanted(t *testing.T) {
	const text = `schedule gather/x ranks=3 root=0 chunks=3 recovery
rank 0
  done c1 c2
  ask 1
  report from 1 2
rank 1
  enter -> mcast c1
  done enter
  report 0
rank 2
  enter -> put c2 @0
  done enter
  report 0
`
	for old, want := range map[string]string{
		"":        "coverage: rank 0 never gets c1, if all multicasts are lost",
		"  ask 1": "recovery: rank 2 has nobody to ask for c1",
	} {
		s, err := ir.ParseText(strings.NewReader(strings.Replace(text, old, strings.Replace(old, "1", "2", 1), 1)))
		require.NoError(t, err)
		report, err := verify.Run(s, "coverage", "recovery")
		require.NoError(t, err)
		var all []string
		for _, r := range report.Results {
			if r.Err != nil {
				all = append(all, r.Err.Error())
			}
		}
		require.Contains(t, strings.Join(all, "\n"), want)
	}
}

// TestCostOfSeveralSlotsInAMessage checks that a message of several slots counts once, with all its
// bytes.
func TestCostOfSeveralSlotsInAMessage(t *testing.T) {
	s, err := ir.ParseText(strings.NewReader(`schedule scatter/x ranks=3 root=0 chunks=6
rank 0
  enter -> put c2 c3 c4 c5 @1
  done enter
rank 1
  enter c4 c5 -> put c4 c5 @2
  done c2 c3 c4 c5
rank 2
  done c4 c5
`))
	require.NoError(t, err)
	cost, ranks, err := verify.CostByRank(s)
	require.NoError(t, err)
	require.Equal(t, verify.Cost{Rounds: 2, Puts: 2, Chunks: 6, Messages: 2, Bytes: 3, MaxOut: 1, MaxIn: 1}, cost)
	require.Equal(t, verify.RankCost{Sent: 1, Received: 1, Out: 1, In: 1, BytesOut: 1, BytesIn: 2}, ranks[1])
	report, err := verify.Run(s)
	require.NoError(t, err)
	require.NoError(t, report.Err())
}
