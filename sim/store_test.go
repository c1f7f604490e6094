package sim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClasses checks that a piece is at least as long as requested and at most an eighth longer,
// and that pieces of one length have one class.
func TestClasses(t *testing.T) {
	lengths := map[int]int{}
	for n := 1; n < 5000; n++ {
		number, length := class(n)
		require.GreaterOrEqual(t, length, n)
		require.LessOrEqual(t, length, n+n/8, "%d", n)
		again, same := class(length)
		require.Equal(t, []int{number, length}, []int{again, same})
		if before, ok := lengths[number]; ok {
			require.Equal(t, before, length)
		}
		lengths[number] = length
	}
	number, length := class(maxWords)
	require.Equal(t, maxWords, length)
	require.Less(t, number, len(store{}.free))
}

// TestStoreIsUsedAgain checks that a new node reuses the memory of a dropped one of its length.
func TestStoreIsUsedAgain(t *testing.T) {
	s := store{}
	of := &shape{begin: make([]int32, 21)}
	first := s.newNode(of, []int32{1, 2, 3})
	words := s.at(first).words
	require.Equal(t, []int32{1, 2, 3}, words[21:])
	s.drop(first)
	require.Zero(t, of.nodes)
	again := s.newNode(of, []int32{4, 5})
	require.Equal(t, first, again)
	require.Same(t, &words[0], &s.at(again).words[0])
	require.Equal(t, []int32{4, 5}, s.at(again).words[21:])
}
