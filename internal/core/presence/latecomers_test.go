package presence

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A rank says once that it has not entered an operation, and takes that back when it enters.
func TestOwnLateness(t *testing.T) {
	var l Latecomers
	_, told := l.Enter(1)
	require.False(t, told)
	require.True(t, l.Say(3))
	require.False(t, l.Say(3))
	require.False(t, l.Say(2))
	require.True(t, l.Say(4))
	_, told = l.Enter(3)
	require.False(t, told)
	require.EqualValues(t, 4, l.Said())
	said, told := l.Enter(4)
	require.True(t, told)
	require.EqualValues(t, 4, said)
	require.Zero(t, l.Said())
}

func TestLateRanks(t *testing.T) {
	var l Latecomers
	require.Empty(t, l.In(9))
	l.Hear(3, 5, false)
	l.Hear(3, 5, false)
	l.Hear(1, 5, false)
	require.Equal(t, []int{3, 1}, l.In(5))
	require.Equal(t, []int{3, 1}, l.In(6), "a rank that has not entered one has not entered the next")
	require.Empty(t, l.In(4))
	l.Hear(3, 5, true)
	l.Hear(2, 4, false)
	require.Equal(t, []int{1}, l.In(5))
	l.Hear(2, 6, false)
	require.Equal(t, []int{2}, l.In(6), "the latest operation counts")
	for rank := range 20 {
		l.Hear(rank, 6, false)
	}
	require.Len(t, l.In(6), maxLate)
}
