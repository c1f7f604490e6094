package bitset

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

// A Set behaves like a map of numbers.
func TestSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Set
		in := map[int]bool{}
		numbers := rapid.IntRange(0, 200)
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			i := numbers.Draw(t, "number")
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				s = s.With(i)
				in[i] = true
			case 1:
				if i < 64*len(s) {
					s.Add(i)
					in[i] = true
				}
			default:
				require.Equal(t, in[i], s.Remove(i))
				delete(in, i)
			}
		}
		for i := range 300 {
			require.Equal(t, in[i], s.Has(i), "%d", i)
		}
		require.Equal(t, len(in) == 0, s.IsEmpty())
	})
}

// Memory that is used again keeps nothing of its old content.
func TestMemoryIsUsedAgain(t *testing.T) {
	var none Set
	require.Equal(t, Set{0, 0}, none.Roomy(65))
	s := Set{7, 8, 9}
	require.Equal(t, Set{7, 8, 9}, s.Roomy(65), "it has words")
	again := s.Cleared(65)
	require.Equal(t, Set{0, 0}, again)
	require.Same(t, &s[0], &again[0])
	require.Len(t, again.Cleared(1000), 16)
	require.Empty(t, again.Cleared(0))
}
