package runtime

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/schedule"
)

// A child of the root that has a child of its own asks that one first; all
// others ask the rank that they acknowledge to.
func TestAskWhom(t *testing.T) {
	for name, want := range map[string][][]int{
		"bcast/mcast-acktree": {nil, {0}, {3, 0}, {2}, {5, 0}, {4}, {4}, {6}},
		"bcast/mcast-chain":   {nil, nil, nil, nil, nil, nil, nil, nil}, // nobody acknowledges
	} {
		spec, err := schedule.New(name, schedule.Params{Ranks: 8, Chunks: 9})
		require.NoError(t, err)
		for rank, peers := range want {
			p := spec.Program(rank)
			require.Equal(t, peers, askWhom(&p, 0), "%s: rank %d", name, rank)
		}
		require.Equal(t, name == "bcast/mcast-acktree", tracksReplies(spec.Program(0)))
	}
}

func TestBystander(t *testing.T) {
	for _, c := range []struct{ rank, root, size, want int }{
		{1, 0, 8, 3}, {1, 0, 2, 0}, {1, 0, 3, 2}, {2, 0, 3, 1}, {6, 0, 8, 7}, {0, 1, 2, 1},
	} {
		require.Equal(t, c.want, bystander(c.rank, c.root, c.size), "%+v", c)
	}
}

func TestMissingRuns(t *testing.T) {
	for _, c := range []struct {
		have   string // x: here
		lo, hi int
		want   []uint32
	}{
		{"", 0, 0, nil},
		{"xxx", 0, 3, nil},
		{"...", 0, 3, []uint32{0, 3}},
		{".x.x..", 0, 6, []uint32{0, 1, 2, 1, 4, 2}},
		{".x.x..", 1, 5, []uint32{2, 1, 4, 1}},
		{"....", 3, 2, nil},
	} {
		var got []uint32
		runs := missingRuns(nil, c.lo, c.hi, func(k int) bool { return c.have[k] == 'x' })
		for ; len(runs) > 0; runs = runs[8:] {
			got = append(got, binary.BigEndian.Uint32(runs), binary.BigEndian.Uint32(runs[4:]))
		}
		require.Equal(t, c.want, got, "%+v", c)
	}
	require.Len(t, missingRuns(nil, 0, 1<<20, func(k int) bool { return k%2 == 0 }), MaxControl, "what fits into a frame")
}

func TestCarries(t *testing.T) {
	spec, err := schedule.New("bcast/mcast-acktree", schedule.Params{Ranks: 8, Chunks: 2})
	require.NoError(t, err)
	puts, asks := 0, 0
	for _, r := range spec.Program(4).Rules {
		if r.IsRepair() && carries(r.Do) {
			puts++
		} else if r.IsRepair() {
			asks++
		}
	}
	require.Equal(t, 2, puts, "the children 5 and 6 are repaired")
	require.Equal(t, 4, asks, "and asked for each of two chunks")
	require.False(t, carries(nil))
}
