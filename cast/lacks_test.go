package cast

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/cast/block"
	"github.com/schedgen/schedgen/runtime/lobby"
)

// drawLacks draws what some receivers lack.
func drawLacks(t *rapid.T, l *lacks) (all []lobby.Guest) {
	n := rapid.IntRange(1, 200).Draw(t, "blocks")
	for i := range rapid.IntRange(1, 12).Draw(t, "receivers") {
		id := fmt.Sprint("g", i)
		all = append(all, lobby.Guest{Name: id, Word: (&guestWord{ID: id, Resume: true}).spell()})
		from := rapid.IntRange(0, n).Draw(t, "from")
		to := rapid.IntRange(from, n).Draw(t, "to")
		s := new(block.Set)
		for b := range n {
			s.Append(from <= b && b < to)
		}
		require.NoError(t, l.learn(id, s.Text()))
	}
	return all
}

// Every receiver is served once, in a few rounds, with all that it lacks and not much more.
func TestCastLacks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l lacks
		waiting := drawLacks(t, &l)
		require.Empty(t, l.unknown(waiting))
		for len(waiting) > 0 {
			chosen, lacked := l.group(waiting)
			require.NotEmpty(t, chosen)
			require.Zero(t, chosen[0])
			for _, i := range chosen {
				mine := l.sets[wordOf(&waiting[i]).ID]
				for b := range l.blocks {
					require.True(t, !mine.Lacks(b) || lacked.Lacks(b))
				}
				if n := mine.Lacked(l.blocks); l.groups < mostGroups {
					require.LessOrEqual(t, lacked.Lacked(l.blocks), n+n/spareShare+spareBlocks)
				}
			}
			for k := len(chosen) - 1; k >= 0; k-- {
				waiting = append(waiting[:chosen[k]], waiting[chosen[k]+1:]...)
			}
		}
		require.LessOrEqual(t, l.groups, mostGroups)
	})
}

// Who does not resume is asked nothing, and lacks all.
func TestCastLacksUnknown(t *testing.T) {
	var l lacks
	all := []lobby.Guest{{Name: "old"}, {Name: "new", Word: (&guestWord{ID: "n", Resume: true}).spell()}}
	require.Equal(t, []int{1}, l.unknown(all))
	require.Error(t, l.learn("n", []byte{0x80}))
	require.NoError(t, l.learn("n", nil))
	require.Empty(t, l.unknown(all))
	chosen, lacked := l.group(all)
	require.Equal(t, []int{0, 1}, chosen)
	require.Nil(t, lacked)
}
