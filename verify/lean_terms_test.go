package verify

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
)

// ownTwice makes a rank fold its contribution twice wherever it folds it.
func ownTwice(p *ir.Program) {
	for i := range p.Rules {
		var do []ir.Action
		for _, a := range p.Rules[i].Do {
			if do = append(do, a); a.Op == ir.Fold && a.Slot.Kind() == ir.KindInput {
				a.Joins = true
				do = append(do, a)
			}
		}
		p.Rules[i].Do = do
	}
}

// othersTwice makes each rank put each contribution twice, and the receiver fold it twice.
func othersTwice(s *ir.Schedule) {
	type value struct{ rank, index int }
	again := make(map[value]ir.Slot)
	for rank := range s.Programs {
		for i := range s.Programs[rank].Rules {
			r := &s.Programs[rank].Rules[i]
			for _, a := range slices.Clone(r.Do) {
				if a.Op == ir.Put && a.Slot.Kind() == ir.KindInput {
					to := &s.Programs[a.To]
					second := ir.Value(to.Values)
					to.Values++
					again[value{int(a.To), a.As.Index()}] = second
					r.Do = append(r.Do, ir.PutAs(a.Slot, int(a.To), second))
				}
			}
		}
	}
	for rank := range s.Programs {
		for i := range s.Programs[rank].Rules {
			r := &s.Programs[rank].Rules[i]
			for _, w := range slices.Clone(r.When) {
				if second, ok := again[value{rank, w.Index()}]; ok && w.Kind() == ir.KindValue {
					r.When = append(r.When, second)
				}
			}
			var do []ir.Action
			for _, a := range r.Do {
				do = append(do, a)
				if second, ok := again[value{rank, a.Slot.Index()}]; ok && a.Op == ir.Fold && a.Slot.Kind() == ir.KindValue {
					a.Slot, a.Joins = second, true
					do = append(do, a)
				}
			}
			r.Do = do
		}
	}
}

// swapLast swaps the first two operands of the last fold of a rank.
func swapLast(t *testing.T, p *ir.Program) {
	for i, r := range slices.Backward(p.Rules) {
		for j := len(r.Do) - 1; j > 0; j-- {
			if do := p.Rules[i].Do; do[j].Op == ir.Fold && do[j].Joins && !do[j-1].Joins {
				do[j].Slot, do[j-1].Slot = do[j-1].Slot, do[j].Slot
				return
			}
		}
	}
	t.Fatal("the rank folds nothing")
}

// Each proof without the whole schedule sees a wrong tree that no check but contributes or same-tree
// finds.
func TestLeanProofsSeeWrongTrees(t *testing.T) {
	type proof func(h ir.Header, maker func() func(rank int) ir.Program) *Report
	rotation := func(h ir.Header, maker func() func(rank int) ir.Program) *Report {
		return proveRotation(h, maker, Checks())
	}
	intervals := func(h ir.Header, maker func() func(rank int) ir.Program) *Report {
		return proveIntervals(h, maker, Checks())
	}
	for _, of := range []struct {
		name  string
		prove proof
		spoil func(s *ir.Schedule)
		want  string
	}{
		{"reduce-scatter/circulant", rotation, func(s *ir.Schedule) {
			for rank := range s.Programs {
				ownTwice(&s.Programs[rank])
			}
		}, "contributes: rank 3 counts twice"},
		{"reduce/halving", intervals, func(s *ir.Schedule) { ownTwice(&s.Programs[1]) }, "contributes: rank 1 counts twice"},
		{"reduce-scatter/linear", proveBare, othersTwice, "contributes: rank 1 counts twice"},
		{"allreduce/linear", proveBare, func(s *ir.Schedule) { swapLast(t, &s.Programs[2]) }, "same-tree: rank 0 folds c0 as"},
	} {
		spec, err := NewSpec(of.name, Params{Ranks: 4})
		require.NoError(t, err)
		s := clone(spec.Schedule())
		s.Algorithm = "mine" // it promises nothing, so no other check refuses it
		require.NotNil(t, of.prove(s.Header, makerOf(s)), of.name)
		of.spoil(s)
		full, err := Run(s)
		require.NoError(t, err)
		require.ErrorContains(t, full.Err(), of.want, of.name)
		for _, res := range full.Results {
			if res.Err != nil {
				require.Contains(t, of.want, res.Check+": ", "%s: %v", of.name, res.Err)
			}
		}
		require.Nil(t, of.prove(s.Header, makerOf(s)), of.name)
	}
}
