package verify_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// movedFrom proves the schedule of root 0, and returns it with the schedule of another root.
func movedFrom(t require.TestingT, name string, ranks, root int) (*verify.Root, *ir.Schedule) {
	first, err := schedule.New(name, schedule.Params{Ranks: ranks})
	require.NoError(t, err)
	_, from, err := verify.RunRoot(first.Schedule())
	require.NoError(t, err)
	other, err := schedule.New(name, schedule.Params{Ranks: ranks, Root: root})
	require.NoError(t, err)
	return from, other.Schedule()
}

func makes(s *ir.Schedule) func() func(rank int) ir.Program {
	return func() func(rank int) ir.Program { return func(rank int) ir.Program { return s.Programs[rank] } }
}

// The report of a root that is moved on is that of its own proof, except for the ranks that the note
// of reuse takes as an example.
func TestMovedRootsAreProvedAlike(t *testing.T) {
	moved := make(map[string]bool)
	rapid.Check(t, func(t *rapid.T) {
		var rooted []string
		for _, a := range schedule.Algorithms() {
			if row, _ := ir.CollectiveNamed(a.Collective); row.Rooted {
				rooted = append(rooted, a.Name)
			}
		}
		name := rapid.SampledFrom(rooted).Draw(t, "algorithm")
		ranks := rapid.IntRange(2, heavy.Or(17, 40)).Draw(t, "ranks")
		from, s := movedFrom(t, name, ranks, rapid.IntRange(0, ranks-1).Draw(t, "root"))
		if from == nil {
			return
		}
		got := from.Moved(s.Header, makes(s))
		if got == nil {
			return
		}
		moved[name] = true
		want, err := verify.Run(s)
		require.NoError(t, err)
		require.NoError(t, want.Err())
		require.Equal(t, want.Header, got.Header)
		require.Equal(t, want.Cost, got.Cost)
		require.Equal(t, want.Terms, got.Terms)
		for i := range want.Results {
			if want.Results[i].Check == "reuse" {
				want.Results[i].Note, got.Results[i].Note = "", ""
			}
		}
		require.Equal(t, want.Results, got.Results)
	})
	for _, name := range []string{"anycast/circulant", "anycast/mcast-acktree", "anyreduce/circulant", "anyreduce/mcast-acktree", "bcast/binomial"} {
		require.True(t, moved[name], name)
	}
}

// A schedule with one other number in one program is not a moved one.
func TestChangedProgramsAreNotMoved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"anycast/circulant", "anycast/mcast-acktree", "anyreduce/circulant", "anyreduce/mcast-acktree", "bcast/mcast-acktree"}).Draw(t, "algorithm")
		ranks := rapid.IntRange(3, 12).Draw(t, "ranks")
		from, s := movedFrom(t, name, ranks, rapid.IntRange(1, ranks-1).Draw(t, "root"))
		require.NotNil(t, from)
		require.NotNil(t, from.Moved(s.Header, makes(s)))
		p := &s.Programs[rapid.IntRange(0, ranks-1).Draw(t, "rank")]
		changes := []func(){
			func() { p.Signals++ },
			func() { p.Values++ },
			func() { p.Done = append(slices.Clone(p.Done), ir.Signal(0)) },
			func() { p.Rules = append(slices.Clone(p.Rules), ir.Rule{When: []ir.Slot{ir.Enter}}) },
			func() { p.Ask = append(slices.Clone(p.Ask), int32(p.Rank)) },
			func() { p.ReportFrom = append(slices.Clone(p.ReportFrom), int32(p.Rank)) },
			func() { p.Twice = append(slices.Clone(p.Twice), ir.Action{Op: ir.Put}) },
			func() { p.Reports = !p.Reports },
			func() { p.ReportTo++ },
		}
		for i := range p.Rules {
			r := &p.Rules[i]
			changes = append(changes, func() { r.After++ }, func() { r.Unless++ }, func() { r.When = append(slices.Clone(r.When), ir.Enter) })
			for j := range r.Do {
				a := &r.Do[j]
				changes = append(changes, func() { a.Op++ }, func() { a.To++ }, func() { a.Slot++ }, func() { a.As++ }, func() { a.Joins = !a.Joins })
			}
		}
		rapid.SampledFrom(changes).Draw(t, "change")()
		require.Nil(t, from.Moved(s.Header, makes(s)))
	})
}
