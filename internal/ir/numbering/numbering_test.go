package numbering_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/ir/numbering"
	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
)

// holds compares a numbering with the sorted list of its slots, which includes enter.
func holds(t require.TestingT, s numbering.Slots, want []ir.Slot, others ...ir.Slot) {
	require.Equal(t, len(want), s.Len())
	for i, x := range want {
		require.Equal(t, i, s.Index(x), "%v", x)
		require.Equal(t, x, s.At(i))
	}
	for _, x := range append(others, ir.None, ir.Enter+1, ir.Chunk(ir.MaxIndex), ir.Signal(ir.MaxIndex), ir.Value(ir.MaxIndex), ir.Input(0)) {
		if !slices.Contains(want, x) {
			require.Equal(t, -1, s.Index(x), "%v", x)
		}
	}
}

func TestNothingButEnter(t *testing.T) {
	holds(t, numbering.Slots{}, []ir.Slot{ir.Enter}, ir.Chunk(0), ir.Signal(0))
	holds(t, numbering.Of(nil), []ir.Slot{ir.Enter}, ir.Chunk(0), ir.Signal(0))
}

func TestFromZeroOn(t *testing.T) {
	want := []ir.Slot{ir.Enter, ir.Chunk(0), ir.Chunk(1), ir.Signal(0), ir.Signal(1), ir.Signal(2)}
	holds(t, numbering.Prefix(2, 3, 0), want, ir.Chunk(2), ir.Signal(3), ir.Value(0), ir.Input(0))
	holds(t, numbering.Of(slices.Concat(want, want)), want, ir.Chunk(2), ir.Signal(3))
}

func TestPartialResults(t *testing.T) {
	want := []ir.Slot{ir.Enter, ir.Chunk(0), ir.Signal(0), ir.Value(0), ir.Value(1)}
	holds(t, numbering.Prefix(1, 1, 2), want, ir.Value(2), ir.Input(0))
	holds(t, numbering.Of(append(slices.Clone(want), ir.Input(0), ir.Input(7))), want, ir.Value(2), ir.Input(0))
	odd := []ir.Slot{ir.Enter, ir.Chunk(3), ir.Signal(0), ir.Value(1), ir.Value(5)}
	holds(t, numbering.Of(slices.Clone(odd)), odd, ir.Value(0), ir.Value(2), ir.Input(1))
}

// TestAlltoall numbers the slots of an alltoall, where a rank holds a run of chunks and wants
// chunks with a stride.
func TestAlltoall(t *testing.T) {
	const ranks = 64
	for rank := range ranks {
		var named []ir.Slot
		for i := range ranks {
			named = append(named, ir.Chunk(rank*ranks+i), ir.Chunk(i*ranks+rank))
		}
		want := append(slices.Clone(named), ir.Enter)
		slices.Sort(want)
		want = slices.Compact(want)
		holds(t, numbering.Of(named), want, ir.Chunk((rank*ranks+ranks)%(ranks*ranks)), ir.Signal(0))
	}
}

func TestAnySlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slot := rapid.Custom(func(t *rapid.T) ir.Slot {
			i := rapid.OneOf(rapid.IntRange(0, 9), rapid.IntRange(0, 200), rapid.IntRange(0, ir.MaxIndex)).Draw(t, "index")
			return rapid.SampledFrom([]ir.Slot{ir.Enter, ir.Chunk(i), ir.Chunk(i), ir.Signal(i), ir.Value(i)}).Draw(t, "slot")
		})
		var named []ir.Slot
		for range rapid.IntRange(0, 3).Draw(t, "progressions") {
			first, step := rapid.IntRange(0, 500).Draw(t, "first"), rapid.IntRange(1, 1<<20).Draw(t, "step")
			for i := range rapid.IntRange(0, 40).Draw(t, "count") {
				named = append(named, ir.Chunk(first+i*step))
			}
		}
		named = append(named, rapid.SliceOfN(slot, 0, 12).Draw(t, "others")...)
		want := append(slices.Clone(named), ir.Enter)
		slices.Sort(want)
		want = slices.Compact(want)
		holds(t, numbering.Of(named), want, rapid.SliceOfN(slot, 0, 20).Draw(t, "not there, perhaps")...)
	})
}
