package schedule

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/verify"
)

// Collectives of many blocks: their costs, and their proofs for any parameters.

// TestCostOfCollectives checks the depth, the messages and the blocks that the busiest rank sends,
// at 5, 8 and 13 ranks. It also checks the number of rounds if each rank has one port.
func TestCostOfCollectives(t *testing.T) {
	type figures struct {
		depth, messages int
		busiest         float64 // blocks
		rounds          int     // with one port
	}
	for name, want := range map[string][3]figures{
		"allgather/bruck":    {{2, 15, 4, 3}, {3, 24, 7, 3}, {4, 52, 12, 4}},
		"allgather/doubling": {{2, 15, 4, 3}, {3, 24, 7, 3}, {4, 52, 12, 4}},
		"allgather/linear":   {{1, 20, 4, 4}, {1, 56, 7, 7}, {1, 156, 12, 12}},
		"allgather/ring":     {{4, 20, 4, 4}, {7, 56, 7, 7}, {12, 156, 12, 12}},
		"alltoall/bruck":     {{2, 15, 5, 3}, {3, 24, 12, 3}, {4, 52, 22, 4}},
		"alltoall/pairwise":  {{4, 20, 4, 4}, {7, 56, 7, 7}, {12, 156, 12, 12}},
		"alltoall/linear":    {{1, 20, 4, 4}, {1, 56, 7, 7}, {1, 156, 12, 12}},
		"gather/binomial":    {{2, 4, 2, 3}, {3, 7, 4, 3}, {3, 12, 5, 4}},
		"gather/linear":      {{1, 4, 1, 4}, {1, 7, 1, 7}, {1, 12, 1, 12}},
		"scatter/binomial":   {{2, 4, 4, 3}, {3, 7, 7, 3}, {3, 12, 12, 4}},
		"scatter/linear":     {{1, 4, 4, 4}, {1, 7, 7, 7}, {1, 12, 12, 12}},

		// A chunk of a vector in pieces counts as a block here.
		"reduce/linear":            {{1, 4, 1, 4}, {1, 7, 1, 7}, {1, 12, 1, 12}},
		"reduce/binomial":          {{2, 4, 1, 3}, {3, 7, 1, 3}, {3, 12, 1, 4}},
		"reduce/chain":             {{4, 4, 1, 4}, {7, 7, 1, 7}, {12, 12, 1, 12}},
		"reduce/halving":           {{5, 12, 5, 5}, {6, 31, 11, 6}, {7, 36, 11, 7}},
		"allreduce/linear":         {{1, 20, 4, 4}, {1, 56, 7, 7}, {1, 156, 12, 12}},
		"allreduce/doubling":       {{3, 10, 3, 4}, {3, 24, 3, 3}, {5, 34, 4, 5}},
		"allreduce/halving":        {{6, 18, 10, 6}, {6, 48, 14, 6}, {8, 58, 22, 8}},
		"allreduce/star":           {{2, 8, 4, 8}, {2, 14, 7, 14}, {2, 24, 12, 24}},
		"allreduce/two-shot":       {{2, 40, 8, 8}, {2, 112, 14, 14}, {2, 312, 24, 24}},
		"allreduce/ring":           {{8, 40, 8, 8}, {14, 112, 14, 14}, {24, 312, 24, 24}},
		"allreduce/multiplying":    {{3, 10, 3, 5}, {3, 16, 4, 7}, {4, 44, 5, 10}},
		"allreduce/circulant":      {{4, 30, 8, 6}, {6, 48, 14, 6}, {8, 104, 24, 8}},
		"reduce-scatter/linear":    {{1, 20, 4, 4}, {1, 56, 7, 7}, {1, 156, 12, 12}},
		"reduce-scatter/star":      {{2, 8, 5, 8}, {2, 14, 8, 14}, {2, 24, 13, 24}},
		"reduce-scatter/pairwise":  {{4, 20, 4, 4}, {7, 56, 7, 7}, {12, 156, 12, 12}},
		"reduce-scatter/circulant": {{2, 15, 4, 3}, {3, 24, 7, 3}, {4, 52, 12, 4}},
		"reduce-scatter/halving":   {{3, 10, 5, 4}, {3, 24, 7, 3}, {5, 34, 13, 5}},
		"scan/chain":               {{4, 4, 1, 4}, {7, 7, 1, 7}, {12, 12, 1, 12}},
		"scan/doubling":            {{2, 8, 3, 3}, {3, 17, 3, 3}, {3, 37, 4, 4}},
		"exscan/doubling":          {{2, 8, 3, 3}, {3, 17, 3, 3}, {3, 37, 4, 4}},
		"exscan/skip-123":          {{2, 8, 3, 3}, {3, 18, 4, 4}, {4, 38, 4, 4}},
		"anyreduce/skip-ring":      {{6, 12, 6, 8}, {9, 21, 6, 9}, {9, 36, 8, 12}},
		"anyreduce/circulant":      {{6, 12, 6, 8}, {9, 21, 6, 9}, {9, 36, 8, 12}},
	} {
		for i, ranks := range []int{5, 8, 13} {
			s := buildOf(t, name, Params{Ranks: ranks})
			cost, each, err := verify.CostByRank(s)
			require.NoError(t, err)
			got := figures{cost.Rounds, cost.Messages, 0, onePorted(s)}
			for _, r := range each {
				got.busiest = max(got.busiest, r.BytesOut)
			}
			got.busiest *= float64(s.BlockChunks())
			require.Equal(t, want[i], got, "%s P=%d", name, ranks)
		}
	}
}

// TestCostOfMulticastResult checks that allreduce/mcast-acktree sends P-1 partial results,
// multicasts every chunk once, and acknowledges it.
func TestCostOfMulticastResult(t *testing.T) {
	for ranks := 2; ranks <= 33; ranks++ {
		for _, chunks := range []int{1, 3} {
			cost, err := verify.CostOf(buildOf(t, "allreduce/mcast-acktree", Params{Ranks: ranks, Chunks: chunks}))
			require.NoError(t, err)
			require.Equal(t, []int{chunks * (ranks - 1), chunks, ranks - 1}, []int{cost.Puts, cost.Mcasts, cost.Signals}, "P=%d", ranks)
		}
	}
}

// onePorted returns the rounds of a schedule in which a rank sends one message at a time, always
// the first that it can send, and receives one at a time.
func onePorted(s *ir.Schedule) int {
	set, sent := map[place]int{}, map[*ir.Action]bool{} // by slot: the round before which it is set
	for rank := range s.Programs {
		set[place{rank, ir.Enter}] = 1
	}
	for round := 1; ; round++ {
		foldSet(s, set, round)
		busy := map[int32]bool{}
		for rank := range s.Programs {
			if message := firstReady(&s.Programs[rank], func(slot ir.Slot) bool {
				from, ok := set[place{rank, slot}]
				return ok && from <= round
			}, func(a *ir.Action) bool { return sent[a] || busy[a.To] }); message != nil {
				sent[&message[0]], busy[message[0].To] = true, true
				for _, a := range message {
					set[place{int(a.To), a.Sets()}] = round + 1
				}
			}
		}
		if len(busy) == 0 {
			return round - 1
		}
	}
}

// foldSet sets the slots that rules can fold before a round. Folds take no time.
func foldSet(s *ir.Schedule, set map[place]int, round int) {
	for again := true; again; {
		again = false
		for rank := range s.Programs {
			for _, r := range s.Programs[rank].Rules {
				if slices.ContainsFunc(r.When, func(slot ir.Slot) bool {
					from, ok := set[place{rank, slot}]
					return !ok || from > round
				}) {
					continue
				}
				for _, a := range r.Do {
					if _, is := set[place{rank, a.As}]; a.Op == ir.Fold && !is {
						set[place{rank, a.As}], again = round, true
					}
				}
			}
		}
	}
}

// firstReady returns the first message that a program may send, except messages to be left out.
func firstReady(p *ir.Program, isSet func(ir.Slot) bool, leftOut func(*ir.Action) bool) []ir.Action {
	for _, r := range p.Rules {
		if slices.ContainsFunc(r.When, func(slot ir.Slot) bool { return !isSet(slot) }) {
			continue
		}
		for i := 0; i < len(r.Do); {
			message := ir.MessageOf(r.Do[i:])
			if message[0].Op == ir.Put && !leftOut(&message[0]) {
				return message
			}
			i += len(message)
		}
	}
	return nil
}

// TestBundlesBetweenHosts checks that a block crosses between hosts as often as between single
// ranks, and that each bundle is one message. So masters have the same cost as a flat schedule
// among as many ranks.
func TestBundlesBetweenHosts(t *testing.T) {
	const hosts, each = 5, 3
	for _, alg := range Algorithms() {
		if row := alg.Row(); row.Blocks == nil || row.Blocks(2) == 1 || !slices.Contains(alg.Params, "hosts") {
			continue
		}
		flat := buildOf(t, alg.Name, Params{Ranks: hosts})
		messages := map[[2]int]int{}
		for rank, p := range buildOf(t, alg.Name, Params{Ranks: hosts * each, Hosts: hosts}).Programs {
			for _, r := range p.Rules {
				for _, a := range r.Do {
					if from, to := rank/each, int(a.To)/each; a.Op == ir.Put && from != to {
						require.Zero(t, rank%each, "%s: a slave serves another host", alg.Name)
						require.Zero(t, int(a.To)%each, "%s: not to a master", alg.Name)
						messages[[2]int{from, to}] += count(!a.Joins)
					}
				}
			}
		}
		want := map[[2]int]int{}
		for rank, p := range flat.Programs {
			for _, r := range p.Rules {
				for _, a := range r.Do {
					if a.Op == ir.Put {
						want[[2]int{rank, int(a.To)}] += count(!a.Joins)
					}
				}
			}
		}
		require.Equal(t, want, messages, alg.Name)
	}
}

// TestAnyCollective checks that every check holds for every algorithm with any parameters, and that
// a rank's own program is the one in the schedule.
func TestAnyCollective(t *testing.T) {
	for _, alg := range Algorithms() {
		t.Run(alg.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				ranks := rapid.IntRange(1, 20).Draw(t, "ranks")
				p := anyParams(t, &alg, ranks)
				s, err := New(alg.Name, p)
				require.NoError(t, err)
				all := s.Schedule()
				require.NoError(t, ir.Validate(all))
				report, err := verify.Run(all)
				require.NoError(t, err)
				require.NoError(t, report.Err(), "%+v", s.params)
				for rank := range ranks {
					require.Equal(t, all.Programs[rank], s.Program(rank))
				}
			})
		})
	}
}

// anyParams draws parameters for the given number of ranks.
func anyParams(t *rapid.T, alg *Algorithm, ranks int) Params {
	row := alg.Row()
	draw := func(name string, lo, hi int) int {
		if !slices.Contains(alg.Params, name) {
			return 0
		}
		return rapid.IntRange(lo, hi).Draw(t, name)
	}
	return Params{
		Ranks:  ranks,
		Root:   draw(row.RootWord(), 0, ranks-1),
		Chunks: draw("chunks", 0, 5),
		Hosts:  draw("hosts", 0, ranks),
		Degree: draw("degree", 2, 6),
		FanIn:  draw("fan-in", 0, 6),
		FanOut: draw("fan-out", 0, 6),
	}
}
