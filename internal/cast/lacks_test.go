package cast

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/cast/block"
	"github.com/schedgen/schedgen/internal/meet/lobby"
)

// drawLacks draws receivers and the blocks that they lack.
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
		require.NoError(t, l.learn(id, s.Text(), false))
	}
	return all
}

// Every receiver is served once, in a few rounds, with all blocks that it lacks and few others.
func TestCastLacks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l lacks
		waiting := drawLacks(t, &l)
		chosen, _ := l.unknown(waiting)
		require.Empty(t, chosen)
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

// A receiver that does not resume gets no survey and lacks everything.
func TestCastLacksUnknown(t *testing.T) {
	var l lacks
	all := []lobby.Guest{{Name: "old"}, {Name: "new", Word: (&guestWord{ID: "n", Resume: true}).spell()}}
	chosen, lacked := l.unknown(all)
	require.Equal(t, []int{1}, chosen)
	require.Nil(t, lacked)
	require.Error(t, l.learn("n", []byte{0x80}, false))
	require.NoError(t, l.learn("n", nil, false))
	chosen, _ = l.unknown(all)
	require.Empty(t, chosen)
	chosen, lacked = l.group(all)
	require.Equal(t, []int{0, 1}, chosen)
	require.Nil(t, lacked)
}

// In a quick cast, all receivers first compare sizes and times. Those that lack blocks then compare
// the contents of the files with these blocks. A receiver that lacks nothing is served at once.
func TestCastLacksQuick(t *testing.T) {
	var l lacks
	var all []lobby.Guest
	for _, id := range []string{"a", "b", "same"} {
		all = append(all, lobby.Guest{Name: id, Word: (&guestWord{ID: id, Resume: true}).spell()})
	}
	all = append(all, lobby.Guest{Name: "old"})
	chosen, some := l.unseen(all)
	require.True(t, some)
	require.Equal(t, []int{0, 1, 2}, chosen)
	set := func(lacked ...bool) *block.Set {
		s := new(block.Set)
		for _, l := range lacked {
			s.Append(l)
		}
		return s
	}
	require.NoError(t, l.learn("a", set(true, false, false).Text(), true))
	require.NoError(t, l.learn("b", set(false, false, true).Text(), true))
	require.NoError(t, l.learn("same", set(false, false, false).Text(), true))
	_, some = l.unseen(all)
	require.False(t, some)
	chosen, lacked := l.unknown(all)
	require.Equal(t, []int{0, 1}, chosen)
	require.Equal(t, set(true, false, true).Text(), lacked.Text())
	require.NoError(t, l.learn("a", set(true, false, false).Text(), false))
	require.NoError(t, l.learn("b", set(false, false, false).Text(), false))
	chosen, _ = l.unknown(all)
	require.Empty(t, chosen)
	l.forget("a")
	chosen, some = l.unseen(all)
	require.True(t, some)
	require.Equal(t, []int{0}, chosen)
}
