package wire

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

func TestLineIsACacheLine(t *testing.T) {
	require.EqualValues(t, 64, unsafe.Sizeof(Line{}))
	require.EqualValues(t, SealedLen, unsafe.Offsetof(Line{}.Short)+8)
}

// Whichever words of a sealed line have arrived over its old content, the flag is whole only if it
// is the old or the new one; it is whole when all words have arrived.
func TestSealed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flag := rapid.Custom(func(t *rapid.T) Flag {
			return Flag{
				Seq: rapid.Uint64Range(0, 1<<48-1).Draw(t, "seq"), From: rapid.IntRange(0, 1<<16-1).Draw(t, "from"),
				Mark: rapid.OneOf(rapid.Just(uint64(7)), rapid.Uint64()).Draw(t, "mark"),
			}
		})
		var before, after Line
		if rapid.Bool().Draw(t, "used before") {
			before.Write(flag.Draw(t, "before"))
			before.Seal()
		}
		after.Write(flag.Draw(t, "after"))
		after.Seal()
		l := before
		came := rapid.IntRange(0, 7).Draw(t, "words that have come")
		for i, word := range []struct{ to, from *uint64 }{{&l.mark, &after.mark}, {&l.stamp, &after.stamp}, {l.seal(), after.seal()}} {
			if came>>i&1 != 0 {
				*word.to = *word.from
			}
		}
		f, whole := l.Sealed()
		if whole {
			require.Contains(t, []Flag{before.Flag(), after.Flag()}, f)
		}
		if came == 7 {
			require.True(t, whole)
		}
	})
}

// A note is not taken for that of a later operation in the same line.
func TestNoteIsNotTakenForALaterOne(t *testing.T) {
	var l Line
	_, noted := l.Noted(0)
	require.False(t, noted, "nothing has been noted")
	l.Note(5, 7)
	called, noted := l.Noted(5)
	require.True(t, noted)
	require.Equal(t, uint32(7), called)
	for _, later := range []uint64{1 << 16, 1 << 32, 1 << 40} {
		_, noted = l.Noted(5 + later)
		require.False(t, noted)
	}
}
