package schedule

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
)

// The figures of the papers, counted in an independent way: messages over the actions, and rounds
// over the fixpoint.

// tally counts what a schedule sends by rules that are neither repairs nor answers to requests, and
// the rounds until it ends.
type tally struct{ puts, flags, mcasts, rounds int }

func buildOf(t *testing.T, name string, p Params) *ir.Schedule {
	t.Helper()
	s, err := New(name, p)
	require.NoError(t, err)
	return s.Schedule()
}

func tallyOf(t *testing.T, name string, p Params) tally {
	t.Helper()
	s := buildOf(t, name, p)
	run, err := fixpoint.Run(s, fixpoint.Model{})
	require.NoError(t, err)
	var sum tally
	for rank := range s.Programs {
		for i, rule := range s.Programs[rank].Rules {
			if run.Rule(rank, i) < 0 {
				continue
			}
			for _, act := range rule.Do {
				sum.add(act)
			}
		}
		for _, slot := range s.Programs[rank].Done {
			require.GreaterOrEqual(t, run.Slot(rank, slot), 0, "%s %+v: rank %d never gets %v", name, p, rank, slot)
			sum.rounds = max(sum.rounds, run.Slot(rank, slot))
		}
	}
	return sum
}

func (s *tally) add(act ir.Action) {
	switch {
	case act.Op == ir.Mcast:
		s.mcasts++
	case act.Slot.Kind() == ir.KindSignal:
		s.flags++
	default:
		s.puts++
	}
}

// ceilLog returns ⌈log_n p⌉.
func ceilLog(n, p int) int {
	steps := 0
	for power := 1; power < p; power *= n {
		steps++
	}
	return steps
}

// TestDisseminationFigures checks paper 003, §4.2: 36 remote writes in two steps for n = 3 on nine
// nodes, and 72 in one step for n = 9.
func TestDisseminationFigures(t *testing.T) {
	require.Equal(t, tally{flags: 36, rounds: 2}, tallyOf(t, "barrier/dissemination", Params{Ranks: 9, Degree: 3}))
	require.Equal(t, tally{flags: 72, rounds: 1}, tallyOf(t, "barrier/dissemination", Params{Ranks: 9, Degree: 9}))
	for ranks := 1; ranks <= 64; ranks++ {
		for degree := 2; degree <= 10; degree++ {
			got := tallyOf(t, "barrier/dissemination", Params{Ranks: ranks, Degree: degree})
			require.Equal(t, ceilLog(degree, ranks), got.rounds, "P=%d n=%d", ranks, degree)
		}
	}
}

// TestExchangeFigures checks paper 003, §4.2: mode 1 takes log_n N steps of n-1 flags a node if N
// is a power of n. For other N the paper allows ⌈log_n N⌉+2. The extras need at most two more than
// the core's ⌊log_n N⌋.
func TestExchangeFigures(t *testing.T) {
	for degree := 2; degree <= 7; degree++ {
		for ranks := 1; ranks <= 64; ranks++ {
			core, steps := corePower(ranks, degree)
			got := tallyOf(t, "barrier/exchange", Params{Ranks: ranks, Degree: degree})
			require.Equal(t, core*(degree-1)*steps+2*(ranks-core), got.flags, "P=%d n=%d", ranks, degree)
			require.LessOrEqual(t, got.rounds, steps+2*count(ranks > core), "P=%d n=%d", ranks, degree)
			require.GreaterOrEqual(t, got.rounds, ceilLog(degree, ranks), "P=%d n=%d", ranks, degree)
		}
	}
}

// TestHsbFigures checks paper 003, §4.2: hsb performs at most 2⌈log_f N⌉ steps, because a
// heap-shaped tree is not deeper. The paper's example is a ternary tree of seven nodes.
func TestHsbFigures(t *testing.T) {
	require.Equal(t, tally{flags: 12, rounds: 4}, tallyOf(t, "barrier/hsb", Params{Ranks: 7, FanIn: 3, FanOut: 3}))
	for ranks := 1; ranks <= 64; ranks++ {
		for fan := 2; fan <= 8; fan++ {
			got := tallyOf(t, "barrier/hsb", Params{Ranks: ranks, FanIn: fan, FanOut: fan})
			require.Equal(t, 2*(ranks-1), got.flags)
			require.LessOrEqual(t, got.rounds, 2*ceilLog(fan, ranks), "P=%d f=%d", ranks, fan)
		}
		deep := tallyOf(t, "barrier/hsb", Params{Ranks: ranks, FanIn: 1, FanOut: ranks})
		require.Equal(t, ranks-1+min(1, ranks-1), deep.rounds)
	}
}

// TestSymmetricFigures checks paper 004, §3: p² fragments for p destinations, in two phases.
func TestSymmetricFigures(t *testing.T) {
	for ranks := 3; ranks <= 40; ranks++ {
		p := ranks - 1
		require.Equal(t, tally{puts: p * p, rounds: 2}, tallyOf(t, "bcast/symmetric", Params{Ranks: ranks}))
	}
}

// TestSymmetricInOneStep checks paper 004, §3: "in case of small message sizes it is better to
// distribute the whole information in a single step during phase 1".
func TestSymmetricInOneStep(t *testing.T) {
	for ranks := 2; ranks <= 40; ranks++ {
		require.Equal(t, tally{puts: ranks - 1, rounds: 1}, tallyOf(t, "bcast/symmetric", Params{Ranks: ranks, Chunks: 1}))
	}
}

// TestAckTreeFigures checks paper 002, §3.2: in a tree of order n, 2^(n-i) acknowledgements are
// sent in cycle i, and the root gets one in every cycle.
func TestAckTreeFigures(t *testing.T) {
	for n := 1; n <= 8; n++ {
		s := buildOf(t, "bcast/mcast-acktree", Params{Ranks: 1 << n})
		run, err := fixpoint.Run(s, fixpoint.Model{})
		require.NoError(t, err)
		cycles, atRoot := make([]int, n+1), make([]int, n+1)
		for rank := 1; rank < 1<<n; rank++ {
			require.Equal(t, ir.KindSignal, s.Programs[rank].Rules[0].Do[0].Slot.Kind())
			cycle := run.Rule(rank, 0)
			cycles[cycle]++
			atRoot[cycle] += count(s.Programs[rank].Rules[0].Do[0].To == 0)
		}
		for i := 1; i <= n; i++ {
			require.Equal(t, 1<<(n-i), cycles[i], "order %d, cycle %d", n, i)
			require.Equal(t, 1, atRoot[i], "order %d, cycle %d", n, i)
		}
	}
}

// TestBroadcastFigures checks papers 000, §4.1 and 002, §2.2: ⌈log2 P⌉ rounds for the binomial
// tree. It also checks papers 000 and 004: P-1 rounds for the chain and one for the linear
// broadcast.
func TestBroadcastFigures(t *testing.T) {
	for ranks := 2; ranks <= 70; ranks++ {
		for _, chunks := range []int{1, 4} {
			p := Params{Ranks: ranks, Chunks: chunks, Root: ranks / 2}
			puts := chunks * (ranks - 1)
			for _, name := range []string{"bcast/binomial", "bcast/binomial-doubling"} {
				tree := tallyOf(t, name, p)
				require.Equal(t, puts, tree.puts)
				require.LessOrEqual(t, tree.rounds, bits.Len(uint(ranks-1)))
			}
			require.Equal(t, tally{puts: puts, rounds: ranks - 1}, tallyOf(t, "bcast/chain", p))
			require.Equal(t, tally{puts: puts, rounds: 1}, tallyOf(t, "bcast/linear", p))
			require.Equal(t, tally{puts: puts, mcasts: chunks, rounds: 1}, tallyOf(t, "bcast/mcast-chain", p))
		}
	}
}

// TestHierarchyFigures checks paper 003, §4.1: two signals a slave, beside the signals between
// masters.
func TestHierarchyFigures(t *testing.T) {
	for _, name := range []string{"barrier/hsb", "barrier/hsb-mcast", "barrier/exchange", "barrier/dissemination"} {
		for hosts := 1; hosts <= 20; hosts++ {
			flat := tallyOf(t, name, Params{Ranks: hosts})
			got := tallyOf(t, name, Params{Ranks: 20, Hosts: hosts})
			require.Equal(t, flat.flags+2*(20-hosts), got.flags, "%s hosts=%d", name, hosts)
		}
	}
}
