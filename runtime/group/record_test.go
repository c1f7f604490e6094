package group

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/runtime/membership"
)

func TestRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		msg := rapid.SliceOf(rapid.Byte()).Draw(t, "message")
		seq := rapid.Uint64().Draw(t, "seq")
		gotSeq, got, err := readData(appendData(nil, seq, msg)[1:])
		require.NoError(t, err)
		require.Equal(t, seq, gotSeq)
		require.Equal(t, string(msg), string(got))

		r := recovered{membership.NewID(), rapid.Uint32().Draw(t, "epoch"), seq, msg}
		record := appendRecover(nil, &r)
		require.Len(t, record, overhead+len(msg))
		back, err := readRecover(record[1:])
		require.NoError(t, err)
		require.Equal(t, string(r.data), string(back.data))
		back.data = r.data
		require.Equal(t, r, back)

		leaves := rapid.Bool().Draw(t, "leaves")
		require.Equal(t, leaves, readEnd(appendEnd(nil, leaves)[1:]))

		var counts []count
		for range rapid.IntRange(0, 5).Draw(t, "origins") {
			counts = append(counts, count{membership.NewID(), rapid.Uint64().Draw(t, "next")})
		}
		fresh := rapid.Bool().Draw(t, "fresh")
		gotFresh, gotCounts, err := readCounts(appendCounts(nil, fresh, counts)[1:])
		require.NoError(t, err)
		require.Equal(t, fresh, gotFresh)
		require.Equal(t, counts, gotCounts)
	})
}

func FuzzRecords(f *testing.F) {
	f.Add([]byte{0, 1, 2})
	f.Fuzz(func(_ *testing.T, body []byte) {
		readData(body)
		readEnd(body)
		readRecover(body)
		readCounts(body)
	})
}

// A copy is dropped only if its origin could not have sent the last message otherwise.
func TestHistoryIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(rapid.IntRange(1, 5).Draw(t, "window"), rapid.IntRange(1, 60).Draw(t, "bytes"))
		p := h.pastOf(membership.ID{1})
		var sizes []int
		for range rapid.IntRange(1, 30).Draw(t, "messages") {
			sizes = append(sizes, rapid.IntRange(0, 40).Draw(t, "size"))
			h.add(p, 1, make([]byte, sizes[len(sizes)-1]))
			first, under := len(sizes)-1, 0 // the oldest message that may have been under way with the last
			for first > 0 && len(sizes)-first < h.window && under+sizes[first-1] < h.bytes {
				first--
				under += sizes[first]
			}
			require.GreaterOrEqual(t, len(p.copies), len(sizes)-first)
			require.LessOrEqual(t, len(p.copies), h.window)
			require.LessOrEqual(t, p.size, h.bytes+40)
			for i, k := range p.copies {
				require.Len(t, k.data, sizes[len(sizes)-len(p.copies)+i])
			}
		}
	})
}

func TestGaps(t *testing.T) {
	a, b := membership.ID{1}, membership.ID{2}
	lacks, ends := gaps([]report{
		{counts: []count{{a, 5}, {b, 3}}},
		{fresh: true, counts: []count{{a, 9}}}, // a fresh member: its counts do not matter
		{counts: []count{{a, 7}, {b, 3}}},
		{counts: []count{{a, 7}}},
	})
	require.Equal(t, []gap{{origin: a, from: 5, to: 7, holder: 2}}, lacks)
	require.Equal(t, []count{{a, 7}, {b, 3}}, ends)
	lacks, ends = gaps([]report{{fresh: true}})
	require.Empty(t, lacks)
	require.Empty(t, ends)
}

// A member that reports twice must not count for another.
func TestReportsComeOnce(t *testing.T) {
	u := &union{reports: make([]report, 3), missing: 3}
	require.NoError(t, u.report(1, report{said: true}))
	require.ErrorIs(t, u.report(1, report{said: true}), errRecord)
	require.Equal(t, 2, u.missing)
}
