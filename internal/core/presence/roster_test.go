package presence

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

func TestRoster(t *testing.T) {
	var r Roster
	require.Empty(t, r.All())

	refused := errors.New("refused")
	r.Suspect(2, refused)
	r.Suspect(2, errors.New("again"))
	r.Suspect(3, refused)
	require.True(t, r.Suspects())
	_, overdue := r.Overdue(5)
	require.False(t, overdue)
	require.Equal(t, 5+Suspicion, r.Of(2).Until)
	require.False(t, r.Gone(2))

	r.Leave(3, Unknown, 0)
	r.Suspect(3, refused) // it has closed
	require.True(t, r.Gone(3))
	_, missing := r.Missing(9)
	require.False(t, missing, "nobody knows when it left")
	r.Leave(3, 7, 77)
	r.Leave(3, 9, 99)
	a, missing := r.Missing(8)
	require.True(t, missing)
	require.Equal(t, Absence{Rank: 3, State: Left, Last: 7, Print: 77}, a)
	_, missing = r.Missing(7)
	require.False(t, missing)

	a, overdue = r.Overdue(5 + Suspicion)
	require.True(t, overdue)
	require.Equal(t, Absence{Rank: 2, State: Suspected, Err: refused, Until: 5 + Suspicion}, a, "3 has been heard of")
	r.Lose(2, false)
	r.Leave(2, 7, 77) // too late
	_, overdue = r.Overdue(5 + Suspicion)
	require.False(t, overdue)
	require.False(t, r.Suspects())
	require.True(t, r.Gone(2))
	require.True(t, r.Lost(2))
	require.False(t, r.Lost(3))
	require.Equal(t, Lost, r.Of(2).State)
	require.Nil(t, r.Of(1))
}

// A rank that left after an operation has parted from the ranks that called something else in it.
func TestParted(t *testing.T) {
	var r Roster
	r.Leave(1, 4, 0)
	r.Leave(2, 4, 44)
	r.Leave(3, 5, 55)
	_, parted := r.Parted(4, 44)
	require.False(t, parted, "what rank 1 called is not known")
	a, parted := r.Parted(4, 45)
	require.True(t, parted)
	require.Equal(t, 2, a.Rank)
	_, parted = r.Parted(3, 1)
	require.False(t, parted)
}

// The tree of an origin reaches every other rank that has not gone, once.
func TestChildrenReachAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 70).Draw(t, "size")
		origin := rapid.IntRange(0, size-1).Draw(t, "origin")
		var r Roster
		for _, rank := range rapid.SliceOf(rapid.IntRange(0, size-1)).Draw(t, "gone") {
			if rank != origin {
				r.Lose(rank, false)
			}
		}
		reached := make([]int, size)
		todo := []int{origin}
		for ; len(todo) > 0; todo = todo[1:] {
			reached[todo[0]]++
			todo = r.Children(todo, origin, todo[0], size)
		}
		for rank, times := range reached {
			want := 1
			if r.Gone(rank) {
				want = 0
			}
			require.Equal(t, want, times, "rank %d", rank)
		}
	})
}

// Farther steps through the near ranks, and each of them hears of the others.
func TestNear(t *testing.T) {
	var steps []int
	for d := 1; d < 200; d = Farther(d) {
		require.True(t, Near(d), "%d", d)
		steps = append(steps, d)
	}
	n := 0
	for d := 1; d < 200; d++ {
		if Near(d) {
			n++
		}
	}
	require.Len(t, steps, n)
	for size := 1; size < 40; size++ {
		all := true
		for d := 1; d < size; d++ {
			all = all && Near(d)
		}
		require.Equal(t, all, AllNear(size), "%d ranks", size)
	}
}
