package schedule

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/verify"
)

// treeOfDoubling spells the tree of doubling over the given number of ranks: first pairs, then
// neighbours.
func treeOfDoubling(ranks int) string {
	var row []string
	p2 := 1
	for 2*p2 <= ranks {
		p2 *= 2
	}
	for rank := 0; rank < ranks; rank++ {
		if rank < 2*(ranks-p2) {
			row = append(row, fmt.Sprintf("(%d %d)", rank, rank+1))
			rank++
			continue
		}
		row = append(row, fmt.Sprint(rank))
	}
	for len(row) > 1 {
		for i := range len(row) / 2 {
			row[i] = "(" + row[2*i] + " " + row[2*i+1] + ")"
		}
		row = row[:len(row)/2]
	}
	return row[0]
}

// TestTreeOfDoubling checks that schedules whose Spec promises this tree fold it, for every part of
// the vector, with any root, number of chunks and hosts that fit.
func TestTreeOfDoubling(t *testing.T) {
	hosted := false
	for _, alg := range foldingAlgorithms() {
		for ranks := 1; ranks <= 33; ranks++ {
			if ranks > 9 && ranks != 13 && ranks != 16 && ranks != 33 && !heavy.Tests() {
				continue
			}
			want := treeOfDoubling(ranks)
			for root := 0; root < ranks; root += 1 + ranks/3 {
				for hosts := range ranks + 1 {
					p := Params{Ranks: ranks, Root: root, Hosts: hosts, Chunks: (ranks + hosts) % 7}
					if !alg.Row().Rooted && root > 0 || hosts > 5 && hosts%4 != 0 {
						continue
					}
					s, err := New(alg.Name, taken(&alg, p))
					require.NoError(t, err)
					if s.Tree() != TreeOfDoubling {
						continue
					}
					hosted = hosted || hosts > 1 && hosts < ranks
					require.Equal(t, []string{want}, requireFolds(t, s, uint64(hosts)).shapes(), "%s %+v", alg.Name, p)
				}
			}
		}
	}
	require.True(t, hosted)
}

// TestTreesOnHosts checks that a schedule on hosts that has the tree of its algorithm folds each
// block by the same tree as without hosts.
func TestTreesOnHosts(t *testing.T) {
	for _, alg := range foldingAlgorithms() {
		for ranks := 1; ranks <= 16; ranks++ {
			flat, err := New(alg.Name, taken(&alg, Params{Ranks: ranks, Chunks: 2}))
			require.NoError(t, err)
			want := requireFolds(t, flat, 1).shapeOf()
			for hosts := 1; hosts <= ranks; hosts++ {
				s, err := New(alg.Name, taken(&alg, Params{Ranks: ranks, Chunks: 2, Hosts: hosts}))
				require.NoError(t, err)
				if s.Tree() != "" {
					require.Equal(t, want, requireFolds(t, s, 2).shapeOf(), "%s P=%d hosts=%d", alg.Name, ranks, hosts)
				}
			}
		}
	}
}

// shapeOf returns the tree of each result.
func (w *world) shapeOf() map[ir.Slot]string {
	all := map[ir.Slot]string{}
	for at, value := range w.values {
		if w.isResult(at.slot) {
			all[at.slot] = w.shape(value)
		}
	}
	return all
}

// TestTreesOfOnesOwn checks that algorithms that promise no common tree fold another one, and that
// algorithms that do not promise the order of the ranks lose it.
func TestTreesOfOnesOwn(t *testing.T) {
	for _, alg := range foldingAlgorithms() {
		s, err := New(alg.Name, taken(&alg, Params{Ranks: 11, Root: 3}))
		require.NoError(t, err)
		w := requireFolds(t, s, 1)
		require.Equal(t, alg.RankOrder, w.inOrder(), alg.Name)
		if alg.Tree == "" {
			require.NotEqual(t, []string{treeOfDoubling(11)}, w.shapes(), alg.Name)
		}
		require.Equal(t, alg.RankOrder, s.RankOrder())
	}
	for ranks, want := range map[int]bool{3: true, 4: false, 9: true, 27: true, 28: false} {
		s, err := New("allreduce/multiplying", Params{Ranks: ranks})
		require.NoError(t, err)
		require.Equal(t, want, s.RankOrder(), "P=%d", ranks)
		require.Equal(t, want, requireFolds(t, s, 1).inOrder(), "P=%d", ranks)
	}
}

// TestLargeTerms runs samples of more ranks.
func TestLargeTerms(t *testing.T) {
	for _, alg := range foldingAlgorithms() {
		for _, ranks := range heavy.Or([]int{65}, []int{34, 47, 64, 65, 100, 127, 129, 200}) {
			for j, hosts := range []int{0, ranks / 3, ranks / 2, 7} {
				if _, long := strings.CutSuffix(alg.Name, "/linear"); long && hosts == 0 && ranks > 70 {
					continue
				}
				p := Params{Ranks: ranks, Hosts: hosts, Chunks: min(j, 1) * (1 + (ranks+j)%3)}
				p.Root = (ranks * j / 3) % ranks
				s, err := New(alg.Name, taken(&alg, p))
				require.NoError(t, err)
				if _, actions := s.Size(); actions < 40_000 {
					requireFolds(t, s, uint64(ranks))
				}
			}
		}
	}
}

// TestNoBlindSpots tests the evaluator of terms itself. It must find every fold with swapped
// operands, every missing operand and message, and every message to a wrong rank.
func TestNoBlindSpots(t *testing.T) {
	for _, alg := range foldingAlgorithms() {
		for _, p := range []Params{{Ranks: 6}, {Ranks: 7, Hosts: 3}} {
			spec, err := New(alg.Name, taken(&alg, p))
			require.NoError(t, err)
			for rank := range p.Ranks {
				for i, rule := range spec.Program(rank).Rules {
					for j := range rule.Do {
						requireSeen(t, spec, rank, i, j)
					}
				}
			}
		}
	}
}

// requireSeen requires that the evaluator notices a change of one action.
func requireSeen(t *testing.T, spec *Spec, rank, rule, action int) {
	t.Helper()
	clean := &world{s: spec.Schedule(), rand: newRand(1)}
	require.NoError(t, clean.run())
	r := spec.Program(rank).Rules[rule]
	if r.IsRepair() || isAnswer(r) || r.Do[action].Op == ir.Mcast || r.Do[action].Slot.Kind() == ir.KindSignal {
		return
	}
	broken := spec.Schedule()
	do := broken.Programs[rank].Rules[rule].Do
	if do[action].Op == ir.Fold && action+1 < len(do) && do[action+1].Joins {
		do[action].Slot, do[action+1].Slot = do[action+1].Slot, do[action].Slot
		w := &world{s: broken, rand: newRand(1)}
		before, after := clean.shapes(), ""
		err := w.run()
		slices.Sort(before)
		if err == nil {
			all := w.shapes()
			slices.Sort(all)
			after = fmt.Sprint(all)
		}
		require.NotEqual(t, fmt.Sprint(before), after, "%s rank %d: %v turned round", spec.alg.Name, rank, r)
	}
	broken = spec.Schedule()
	broken.Programs[rank].Rules[rule].Do = without(r.Do, action)
	w := &world{s: broken, rand: newRand(1), lost: true}
	require.Error(t, w.run(), "%s rank %d: %v without %v", spec.alg.Name, rank, r, r.Do[action])
}

// TestTextsOfFolds checks programs that the documents show.
func TestTextsOfFolds(t *testing.T) {
	for name, want := range map[string]string{
		"allreduce/doubling": `schedule allreduce/doubling ranks=5 chunks=1
rank 0
  enter v0 -> fold v1 = x0 v0
  v1 -> put v1 @2 as v0
  v1 v2 -> fold v3 = v1 v2
  v3 -> put v3 @3 as v2
  v3 v4 -> fold c0 = v3 v4
  c0 -> put c0 @1
  done c0
rank 1
  enter -> put x0 @0 as v0
  done c0
`,
		"reduce-scatter/circulant": `schedule reduce-scatter/circulant ranks=5 chunks=5
rank 0
  enter -> put x3 x4 @3 as v0 v1
  enter v0 v1 -> fold v2 = v0 x0, fold v3 = v1 x1
  enter -> put x2 @2 as v4
  v2 v4 -> fold v5 = v4 v2
  v3 -> put v3 @1 as v6
  v5 v6 -> fold c0 = v6 v5
  done c0
`,
		"reduce/binomial": `schedule reduce/binomial ranks=5 root=0 chunks=1
rank 0
  enter v0 -> fold v1 = x0 v0
  v1 v2 -> fold v3 = v1 v2
  v3 v4 -> fold c0 = v3 v4
  done c0
rank 1
  enter -> put x0 @0 as v0
  done enter
rank 2
  enter -> put x0 @0 as v2
  done enter
rank 3
  enter v0 -> fold v1 = x0 v0
  v1 -> put v1 @0 as v4
  done v1
rank 4
  enter -> put x0 @3 as v0
  done enter
`,
		"exscan/skip-123": `schedule exscan/skip-123 ranks=5 chunks=5
rank 0
  enter -> put x0 @1 as v0
  enter -> put x0 @2 as v2
  done enter
rank 1
  enter -> put x0 @2 as v0
  enter v0 -> fold v1 = v0 x0
  v0 -> fold c1 = v0
  v1 -> put v1 @3 as v1
  c1 -> put c1 @4 as v3
  done c1
`,
	} {
		s, err := New(name, Params{Ranks: 5})
		require.NoError(t, err)
		var text bytes.Buffer
		require.NoError(t, ir.WriteText(&text, s.Schedule()))
		require.Equal(t, want, text.String()[:min(len(want), text.Len())])
		back, err := ir.ParseText(&text)
		require.NoError(t, err)
		require.Equal(t, s.Schedule(), back)
	}
}

// TestRootsOfReduces checks that without hosts no root costs an additional message, or more than
// one additional round.
func TestRootsOfReduces(t *testing.T) {
	for _, alg := range AlgorithmsOf(Reduce) {
		for ranks := 1; ranks <= 33; ranks++ {
			first, err := verify.CostOf(buildOf(t, alg.Name, Params{Ranks: ranks}))
			require.NoError(t, err)
			for root := range ranks {
				cost, err := verify.CostOf(buildOf(t, alg.Name, Params{Ranks: ranks, Root: root}))
				require.NoError(t, err)
				require.Equal(t, first.Messages, cost.Messages, "%s P=%d root=%d", alg.Name, ranks, root)
				require.LessOrEqual(t, cost.Rounds, first.Rounds+1, "%s P=%d root=%d", alg.Name, ranks, root)
			}
		}
	}
}
