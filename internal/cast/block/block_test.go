package block

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

func setOf(lacked []bool) *Set {
	s := new(Set)
	for _, l := range lacked {
		s.Append(l)
	}
	return s
}

// drawBlocks draws, in runs, whether blocks are lacked.
func drawBlocks(t *rapid.T, name string) (all []bool) {
	for _, n := range rapid.SliceOfN(rapid.IntRange(0, 200), 0, 8).Draw(t, name) {
		all = append(all, slices.Repeat([]bool{rapid.Bool().Draw(t, "lacked")}, n)...)
	}
	return all
}

// A set, and the set of its text, have the blocks that were appended.
func TestSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawBlocks(t, "runs")
		s := setOf(all)
		again, err := Parse(s.Text())
		require.NoError(t, err)
		require.Equal(t, s.Text(), again.Text())
		lacked := int64(0)
		for i, want := range all {
			require.Equal(t, want, s.Lacks(int64(i)))
			require.Equal(t, want, again.Lacks(int64(i)))
			if require.Equal(t, lacked, s.Lacked(int64(i))); want {
				lacked++
			}
		}
		require.True(t, s.Lacks(int64(len(all))), "nothing is known of it")
		require.Equal(t, lacked+7, s.Lacked(int64(len(all))+7))
		require.EqualValues(t, len(all), s.Len())
	})
}

// A union has the blocks that one of two sets lacks.
func TestUnion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := setOf(drawBlocks(t, "a")), setOf(drawBlocks(t, "b"))
		u := Union(a, b)
		for i := range max(a.Len(), b.Len()) + 1 {
			require.Equal(t, a.Lacks(i) || b.Lacks(i), u.Lacks(i))
		}
	})
	require.Nil(t, Union(nil, setOf([]bool{false})))
	require.True(t, (*Set)(nil).Lacks(3))
	require.EqualValues(t, 3, (*Set)(nil).Lacked(3))
}

// The text of a set with too many runs is that of nil.
func TestLongText(t *testing.T) {
	s := new(Set)
	for i := range int64(2*maxText + 10) {
		s.Append(i%2 == 0)
	}
	require.Empty(t, s.Text())
	all, err := Parse(nil)
	require.NoError(t, err)
	require.Nil(t, all)
}

func TestCount(t *testing.T) {
	for size, want := range map[int64]int64{0: 0, 1: 1, Len - 1: 1, Len: 1, Len + 1: 2, 1<<63 - 1: 1 << 43} {
		require.Equal(t, want, Count(size), "%d", size)
	}
}

// FuzzParse checks that a text that Parse accepts is the text of its set.
func FuzzParse(f *testing.F) {
	f.Add(setOf([]bool{true, false, false}).Text())
	f.Add(setOf([]bool{false}).Text())
	f.Add(new(Set).Text())
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Parse(b)
		if err != nil {
			require.ErrorIs(t, err, ErrText)
			return
		}
		if s.Len() > 1<<20 {
			return // would take too long
		}
		require.True(t, bytes.Equal(b, s.Text()), "%x is %x", b, s.Text())
	})
}

// A truncated set has the first blocks, and takes further ones.
func TestTruncate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Bool(), 0, 200).Draw(t, "lacked")
		n := rapid.IntRange(0, 210).Draw(t, "n")
		more := rapid.SliceOfN(rapid.Bool(), 0, 100).Draw(t, "more")
		var cut, want Set
		for _, lacked := range all {
			cut.Append(lacked)
		}
		cut.Truncate(int64(n))
		for _, lacked := range append(slices.Clone(all[:min(n, len(all))]), more...) {
			want.Append(lacked)
		}
		for _, lacked := range more {
			cut.Append(lacked)
		}
		require.Equal(t, want.Text(), cut.Text())
		require.Equal(t, want.Len(), cut.Len())
		require.True(t, slices.Equal(want.have, cut.have), "%x, not %x", cut.have, want.have)
	})
}
