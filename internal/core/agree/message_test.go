package agree

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// setOf draws a set among size ranks.
func setOf(t *rapid.T, size int, label string) Set {
	s := NewSet(size)
	for _, rank := range rapid.SliceOf(rapid.IntRange(0, size-1)).Draw(t, label) {
		s.Add(rank)
	}
	return s
}

// A receiver reads the content that the sender wrote.
func TestMessageIsReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 200).Draw(t, "size")
		s := &content{
			kind:    Kind(rapid.Uint32Range(0, uint32(Kinds)-1).Draw(t, "kind")),
			vote:    Vote{Flags: rapid.Uint64().Draw(t, "flags"), Generation: rapid.Uint32().Draw(t, "generation")},
			gone:    setOf(t, size, "gone"),
			losses:  Losses{setOf(t, size, "lost"), setOf(t, size, "silent")},
			apart:   setOf(t, size, "apart"),
			answers: answersOf(t, size),
		}
		for i := range s.vote.came {
			s.vote.came[i] = span{rapid.Uint64().Draw(t, "least"), rapid.Uint64().Draw(t, "most")}
		}
		body := s.body(size)
		require.True(t, Fits(len(body), size))
		require.False(t, Fits(len(body)-1, size))
		require.Equal(t, s, contentOf(s.kind, body, size))
	})
}

// Bits beyond the last rank do not count, and no body of the right length makes a rank fail.
func TestAnyBodyIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 130).Draw(t, "size")
		n := bodyBytes(size) + answersBytes(size)*rapid.IntRange(0, MaxQuestions).Draw(t, "questions")
		require.True(t, Fits(n, size))
		require.False(t, Fits(bodyBytes(size)+answersBytes(size)*(MaxQuestions+1), size))
		body := rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "body")
		kind := Kind(rapid.Uint32Range(0, uint32(Kinds)-1).Draw(t, "kind"))
		for _, rank := range contentOf(kind, body, size).gone.List() {
			require.Less(t, rank, size)
		}
		a := New(rapid.IntRange(0, size-1).Draw(t, "rank"), size)
		f := newFacts(size)
		a.Open(f)
		a.Hear(rapid.IntRange(0, size-1).Draw(t, "from"), Message{Ballot: rapid.Uint64Range(0, 3).Draw(t, "ballot"), Kind: kind, Body: body}, f)
		a.Update(f, rapid.Bool().Draw(t, "failed"))
		for _, m := range a.Messages() {
			require.True(t, Fits(len(m.Body), size))
			require.Less(t, m.To, size)
		}
	})
}
