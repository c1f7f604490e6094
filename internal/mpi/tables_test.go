package mpi

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/schedule"
)

// words returns the words of tables.
func words(t *testing.T, ranks int) []int32 {
	t.Helper()
	text, err := Tables(ranks)
	require.NoError(t, err)
	require.Zero(t, len(text)%4)
	var all []int32
	for ; len(text) > 0; text = text[4:] {
		all = append(all, int32(binary.NativeEndian.Uint32(text)))
	}
	return all
}

// Every plan lies within the words, and its tables have the lengths that it states.
func TestTables(t *testing.T) {
	for _, ranks := range []int{2, 3, 7, 16, 64, 65, 300} {
		w := words(t, ranks)
		require.Equal(t, []int32{magic, version, int32(ranks)}, w[:3])
		require.Equal(t, len(w), int(w[4]))
		require.LessOrEqual(t, len(w), 1<<20, "%d ranks: tables are memory of each rank", ranks)
		for i := range int(w[3]) {
			entry := w[headWords+i*(4+nameWords):][:4+nameWords]
			for rank := range ranks {
				at := w[int(entry[3])+rank]
				p := w[at : at+13]
				end := at + 13 + 6*(p[0]+p[1]) + 5*p[2] + 3*p[3] + p[4] + p[10] + p[11] + p[12]
				require.LessOrEqual(t, int(end), len(w))
			}
		}
	}
}

func TestChoices(t *testing.T) {
	least := make(map[Operation]int)
	ordered := make(map[Operation]bool)
	for _, c := range Choices() {
		alg, ok := schedule.Named(c.Algorithm)
		require.True(t, ok, c.Algorithm)
		before, seen := least[c.Operation]
		require.Equal(t, seen, c.Least > before, "%s: choices for an operation begin at 0 and ascend", c.Algorithm)
		least[c.Operation] = c.Least
		ordered[c.Operation] = ordered[c.Operation] || alg.RankOrder || alg.Row().Inputs == nil
	}
	require.Len(t, least, int(AlltoallV)+1, "an operation has no choice")
	for op, ok := range ordered {
		require.True(t, ok, "operation %d has no schedule for operations that do not commute", op)
	}
}

func TestTablesRefuse(t *testing.T) {
	for _, ranks := range []int{-1, 0, 1, MaxRanks + 1} {
		_, err := Tables(ranks)
		require.ErrorContains(t, err, "must be 2 to 4096")
	}
	dir := t.TempDir()
	require.Error(t, WriteTables(filepath.Join(dir, "missing", "2.tables"), 2))
	require.NoError(t, WriteTables(filepath.Join(dir, "2.tables"), 2))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1)
}
