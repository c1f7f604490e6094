package loss

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
)

// A request lists missing units in runs, up to its greatest length.
func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		missing := rapid.SliceOfN(rapid.Bool(), 0, 400).Draw(t, "missing")
		most := rapid.IntRange(1, 500).Draw(t, "most")
		r := runs{most: most}
		var body []byte
		var want []int
		for i, gone := range missing {
			if gone && !r.full(body) {
				body = r.add(body, i)
				want = append(want, i)
			}
		}
		n, ok := countRuns(body, len(missing))
		require.True(t, ok)
		require.Equal(t, len(want), n)
		require.LessOrEqual(t, n, most)
		require.LessOrEqual(t, len(body), MaxRequest)
		var got []int
		for ; len(body) > 0; body = body[8:] {
			first, length := binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:])
			for i := range length {
				got = append(got, int(first+i))
			}
		}
		require.Equal(t, want, got)
	})
	_, ok := countRuns([]byte{0, 0, 0, 3, 0, 0, 0, 2}, 4)
	require.False(t, ok, "beyond the last")
	_, ok = countRuns(make([]byte, 7), 4)
	require.False(t, ok, "torn")
	_, ok = countRuns([]byte{255, 255, 255, 255, 255, 255, 255, 255}, 4)
	require.False(t, ok, "no sum overflows")
}

// A rank waits about twice as long as answers took, within limits.
func TestPatience(t *testing.T) {
	r := New(Config{Repair: base})
	require.Equal(t, base/4, r.patience(), "nothing is known")
	r.answers.Took(100e3)
	require.Equal(t, minPatience, r.patience())
	for range 100 {
		r.answers.Took(2e6)
	}
	require.InDelta(t, 4e6, float64(r.patience()), 1e5)
	for range 200 {
		r.answers.Took(1e10)
	}
	require.Equal(t, moment.Longest(base), r.patience())
}

// Each request asks for the first missing fragments from the point that the pass has reached.
func TestMissingParts(t *testing.T) {
	var l Losses
	l.Open(Message{Chunks: 2, Bytes: 2000})
	l.Parts.Layout(10, 2, func(int) int { return 1000 }) // 100 fragments each
	f := &facts{}
	for i := range 100 {
		if i%2 == 0 {
			l.Parts.add(0, i*10)
		}
	}
	dst, n := l.missingParts(nil, 0, 1, 22, f)
	require.Equal(t, 22, n)
	require.Len(t, dst, 22*8, "every other one is a run of its own")
	dst, n = l.missingParts(nil, 44, 1, 1000, f)
	require.Equal(t, 28, n)
	require.Equal(t, uint32(45), binary.BigEndian.Uint32(dst))
	_, n = l.missingParts(nil, 100, 1, 1000, f)
	require.Zero(t, n, "the next chunk is not asked for yet")
	dst, n = l.missingParts(nil, 100, 2, 1000, f)
	require.Equal(t, 100, n)
	require.Len(t, dst, 8, "it is one run")
	dst, n = missingChunks(nil, 0, 2, 1, f)
	require.Equal(t, 1, n)
	require.Len(t, dst, 8)
}
