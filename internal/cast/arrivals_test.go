package cast

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Pieces come in order. Over another communicator some come again, and each counts once.
func TestArrivals(t *testing.T) {
	a := arrivals{lengths: []int{firstLen}}
	buf := make([]byte, pieceLen)
	send := func(announce []int, flags byte) (fresh bool) {
		t.Helper()
		p, err := a.fit(buf)
		require.NoError(t, err)
		a.started(p, nil)
		f, err := a.oldest()
		require.NoError(t, err)
		a.landed()
		return a.add(f, head{number: f.number, announce: announce, flags: flags})
	}
	require.False(t, a.confirms(), "nothing has come")
	for n := range stride {
		require.True(t, a.startable())
		require.True(t, send([]int{100 + n}, 0))
	}
	require.True(t, a.confirms())
	p, err := a.fit(buf)
	require.NoError(t, err)
	require.Len(t, p, 100+stride-1)

	require.ErrorContains(t, a.again(resume{From: stride + 1, Length: 10}), "piece 9 of 10 bytes, but only 8 pieces have come")
	require.ErrorContains(t, a.again(resume{From: stride}), "of 0 bytes", "it was not the last")
	require.NoError(t, a.again(resume{From: stride - 1, Length: 10}))
	require.False(t, a.confirms(), "the first over a communicator confirms nothing")
	require.False(t, send([]int{20}, 0), "it has come before")
	require.True(t, send(nil, flagLast))
	require.True(t, a.ended)
	require.EqualValues(t, stride+1, a.have)
	require.False(t, a.startable())
	_, err = a.oldest()
	require.ErrorIs(t, err, errPiece)
	require.NoError(t, a.again(resume{From: stride + 1}), "all have all")
	require.True(t, a.ended)

	a.lengths = []int{pieceLen + 1}
	_, err = a.fit(buf)
	require.ErrorContains(t, err, "1048577 bytes, at most 1048576 are expected")
}
