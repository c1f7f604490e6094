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

// byBarePrograms are algorithms that rotate except for their folds.
var byBarePrograms = []string{
	"allreduce/linear", "allreduce/two-shot", "reduce-scatter/linear", "reduce-scatter/pairwise",
}

// proveBare is proveRotation by bare programs alone.
func proveBare(h ir.Header, maker func() func(rank int) ir.Program) *Report {
	if bare := newBareForm(&h, maker); bare != nil {
		return proveTurns(h, bare.programs, bare, Checks())
	}
	return nil
}

// TestRotationsGiveWhatSlotsGive compares proofs by one rank, or by the ranks of one host, with proofs of all ranks, word for word,
// for all algorithms.
func TestRotationsGiveWhatSlotsGive(t *testing.T) {
	for _, alg := range Algorithms() {
		t.Run(alg.Name, func(t *testing.T) {
			for _, ranks := range heavy.Or([]int{1, 2, 3, 6, 8}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 23, 32}) {
				for _, p := range []Params{
					{Ranks: ranks}, {Ranks: ranks, Chunks: 3}, {Ranks: ranks, Chunks: 2 * ranks}, {Ranks: ranks, Hosts: 1 + ranks/3},
					{Ranks: ranks, Chunks: 3, Hosts: (ranks + 1) / 2},
				} {
					spec, err := NewSpec(alg.Name, p)
					if err != nil {
						continue
					}
					h := spec.Header()
					whole := proveRotation(h, spec.Maker, Checks())
					bare := proveBare(h, spec.Maker)
					if slices.Contains(byBarePrograms, alg.Name) && ranks > 1 && p.Hosts == 0 && (p.Chunks == 0 || alg.Collective != "allreduce") {
						require.NotNil(t, bare, "%+v", p)
					}
					if whole == nil && bare == nil {
						continue
					}
					full, err := Run(spec.Schedule())
					require.NoError(t, err)
					for _, report := range []*Report{whole, bare} {
						if report != nil {
							require.Positive(t, report.Period)
							full.Period, full.FoldsApart = report.Period, report.FoldsApart
							require.Equal(t, full, report, "%+v", p)
							require.True(t, mayRotate(h, spec.Maker) || mayRotateBare(&h, spec.Maker) != nil)
						}
					}
				}
			}
		})
	}
}

// changeFolds changes the folds of one rank: it exchanges operands, or operands of two folds.
func changeFolds(m *mutant) {
	p := m.program()
	var operands []*ir.Action
	for i := range p.Rules {
		for j := range p.Rules[i].Do {
			if a := &p.Rules[i].Do[j]; a.Op == ir.Fold {
				operands = append(operands, a)
			}
		}
	}
	if len(operands) > 1 {
		a, b := operands[m.rnd.IntN(len(operands))], operands[m.rnd.IntN(len(operands))]
		a.Slot, b.Slot = b.Slot, a.Slot
	}
}

// renumber gives the partial results of one rank other numbers, which changes nothing else.
func renumber(m *mutant) {
	p := m.program()
	to := m.rnd.Perm(p.Values)
	rename := func(s *ir.Slot) {
		if s.Kind() == ir.KindValue {
			*s = ir.Value(to[s.Index()])
		}
	}
	for rank := range m.Programs {
		for i := range m.Programs[rank].Rules {
			r := &m.Programs[rank].Rules[i]
			for j := range r.Do {
				a := &r.Do[j]
				if a.Op == ir.Put && int(a.To) == p.Rank {
					rename(&a.As)
				}
				if rank == p.Rank {
					rename(&a.Slot)
					if a.Op == ir.Fold {
						rename(&a.As)
					}
				}
			}
			for j := range r.When {
				if rank == p.Rank {
					rename(&r.When[j])
				}
			}
		}
	}
	for j := range p.Done {
		rename(&p.Done[j])
	}
}

// TestMutantsByBarePrograms checks that a mutant is proved by bare programs only if it is right, and
// then with the same words.
func TestMutantsByBarePrograms(t *testing.T) {
	proved, refuted, changed := 0, 0, 0
	all := slices.Concat(mutations(), foldMutations())
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(byBarePrograms).Draw(t, "algorithm")
		spec, err := NewSpec(name, Params{Ranks: rapid.IntRange(2, 7).Draw(t, "ranks")})
		require.NoError(t, err)
		m := &mutant{clone(spec.Schedule()), rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 11))}
		kind := rapid.SampledFrom([]string{"none", "any", "folds", "numbers"}).Draw(t, "mutation")
		switch kind {
		case "any":
			rapid.SampledFrom(all).Draw(t, "mutation").apply(m)
		case "folds":
			changeFolds(m)
		case "numbers":
			renumber(m)
		}
		if ir.Validate(m.Schedule) != nil {
			t.Skip("no schedule")
		}
		full, err := Run(m.Schedule)
		require.NoError(t, err)
		maker := func() func(rank int) ir.Program { return func(rank int) ir.Program { return m.Programs[rank] } }
		report := proveBare(m.Header, maker)
		switch {
		case report != nil:
			proved++
			if kind == "folds" || kind == "any" {
				changed++
			}
			require.NoError(t, full.Err(), "%v", m.Schedule)
			full.Period, full.FoldsApart = 1, true
			require.Equal(t, full, report)
		case full.Err() != nil:
			refuted++
		}
	})
	require.Positive(t, proved)
	require.Positive(t, refuted)
	require.Positive(t, changed)
}
