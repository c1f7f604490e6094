package agree

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A Set behaves like a map.
func TestSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 200).Draw(t, "size")
		ranks := rapid.SliceOf(rapid.IntRange(0, size-1))
		fill := func(list []int) (Set, map[int]bool) {
			s, m := NewSet(size), map[int]bool{}
			for _, rank := range list {
				s.Add(rank)
				m[rank] = true
			}
			return s, m
		}
		a, inA := fill(ranks.Draw(t, "a"))
		b, inB := fill(ranks.Draw(t, "b"))
		for rank := range size {
			require.Equal(t, inA[rank], a.Has(rank))
		}
		more := slices.ContainsFunc(slices.Collect(maps.Keys(inB)), func(rank int) bool { return !inA[rank] })
		require.Equal(t, more, b.Exceeds(a))
		require.Equal(t, more, a.Join(b))
		require.False(t, b.Exceeds(a))
		maps.Copy(inA, inB)
		want := slices.Sorted(maps.Keys(inA))
		require.True(t, slices.Equal(want, a.List()))
	})
}
