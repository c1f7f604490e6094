package verify

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const universe = 24

// asRuns returns the set of the bits of mask.
func asRuns(mask uint32) runs {
	var s runs
	for x := range int32(universe) {
		if mask>>x&1 == 1 {
			s = s.push(run{x, x + 1})
		}
	}
	return s
}

func drawMask(t *rapid.T, name string) uint32 {
	return rapid.Uint32Range(0, 1<<universe-1).Draw(t, name)
}

func TestRunsAreSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawMask(t, "a"), drawMask(t, "b")
		ra, rb := asRuns(a), asRuns(b)
		require.Equal(t, asRuns(a|b), union(nil, ra, rb))
		require.Equal(t, asRuns(a&b), intersection(nil, ra, rb))
		require.Equal(t, a&b == b, ra.includes(rb))
		lo := rapid.Int32Range(0, universe).Draw(t, "lo")
		hi := rapid.Int32Range(lo, universe).Draw(t, "hi")
		want := hi
		for x := hi - 1; x >= lo; x-- {
			require.Equal(t, a>>x&1 == 1, ra.has(x))
			if a>>x&1 == 0 {
				want = x
			}
		}
		require.Equal(t, want, ra.firstMissing(lo, hi))
	})
}

// TestWindowsSeeEveryMark lets the sets outgrow a small limit. Every mark must still be examined
// exactly once, with the same answer.
func TestWindowsSeeEveryMark(t *testing.T) {
	spec, err := NewSpec("barrier/dissemination", Params{Ranks: 40, Degree: 2})
	require.NoError(t, err)
	sub, err := newSubject(spec.Schedule())
	require.NoError(t, err)
	whole := newMust(&sub.equations, nil, run{0, 40}, maxRuns)
	require.True(t, whole.solve())
	limit := whole.total - 1
	spans, next := 0, int32(0)
	require.NoError(t, eachWindow(&sub.equations, nil, 40, limit, func(a *must) error {
		require.Equal(t, next, a.span.lo)
		spans, next = spans+1, a.span.hi
		for rank := range sub.s.Programs {
			require.Equal(t, -1, a.firstIgnored(rank))
		}
		return nil
	}))
	require.Equal(t, int32(40), next)
	require.Greater(t, spans, 1)
	err = eachWindow(&sub.equations, nil, 40, 1, func(*must) error { return nil })
	require.ErrorIs(t, err, errIrregular)
	require.False(t, errors.As(err, new(*Failure)))
}

// TestRunAheadInWindows checks that the bounds are the same if the sets do not fit at once.
func TestRunAheadInWindows(t *testing.T) {
	for name, want := range map[string]runAhead{
		"barrier/dissemination": {writes: 1, enters: 1},
		"bcast/mcast-acktree":   {writes: 1, enters: 2},
		"bcast/chain":           {enters: 1, flow: &[2]int{0, 1}, apart: &[2]int{0, 1}},
	} {
		spec, err := NewSpec(name, Params{Ranks: 40})
		require.NoError(t, err)
		sub, err := newSubject(spec.Schedule())
		require.NoError(t, err)
		for _, limit := range []int{maxRuns, 500, 300} {
			got, err := aheadOf(&sub.equations, sub.isSignal, limit)
			require.NoError(t, err, "%s, limit %d", name, limit)
			require.Equal(t, want, got, "%s, limit %d", name, limit)
		}
	}
}
