package agree

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// answersOf draws answers among size ranks, for fewer or more questions than fit into a message.
func answersOf(t *rapid.T, size int) (a answers) {
	for range rapid.IntRange(0, 40).Draw(t, "entries") {
		of := answersTo{rapid.IntRange(0, size-1).Draw(t, "origin"), rapid.Uint64Range(0, 5).Draw(t, "seq"), NewSet(size)}
		of.in.Add(rapid.IntRange(0, size-1).Draw(t, "rank"))
		a = a.join(answers{of})
	}
	return a
}

// Unions of answers do not depend on their order, and survive encoding and decoding.
func TestAnswersAgreedOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 70).Draw(t, "size")
		var lists [3]answers
		for i := range lists {
			lists[i] = answersOf(t, size)
		}
		a := lists[0].join(lists[1]).join(lists[2])
		b := lists[2].join(lists[0]).join(lists[1].join(lists[2]))
		require.Equal(t, a.list(), b.list())
		require.LessOrEqual(t, len(a), MaxQuestions)
		require.Equal(t, a.list(), heardAnswers(a.append(nil), size).list())
		require.Equal(t, a.list(), answersAmong(size, a.list()).list())
	})
	require.Empty(t, heardAnswers(answers{{7, 0, NewSet(3)}}.append(nil), 3))
	require.Len(t, answersAmong(2, make([]Answers, MaxQuestions+1)), MaxQuestions)
}
