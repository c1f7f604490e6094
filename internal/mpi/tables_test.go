package mpi

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// words returns the words of tables.
func words(t *testing.T, ranks int) []int32 {
	t.Helper()
	text, notes, err := Tables(ranks, selection.Builtin())
	require.NoError(t, err)
	require.Empty(t, notes)
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
		_, _, err := Tables(ranks, selection.Builtin())
		require.ErrorContains(t, err, "must be 2 to 4096")
	}
	dir := t.TempDir()
	_, err := WriteTables(filepath.Join(dir, "missing", "2.tables"), 2, selection.Builtin())
	require.Error(t, err)
	_, err = WriteTables(filepath.Join(dir, "2.tables"), 2, selection.Builtin())
	require.NoError(t, err)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1)
}

// Engine c follows rules where it can run their algorithms, says where it cannot, and keeps its own
// choices for all else. Operations that do not commute get a schedule that folds in rank order.
func TestChoicesByRules(t *testing.T) {
	rules, err := selection.Parse([]byte(`{"format": "schedgen-rules/1", "rules": [
		{"collective": "bcast", "bytes": {"min": 4096}, "multicast": true, "algorithm": "bcast/mcast-chain"},
		{"collective": "bcast", "bytes": {"max": 4095}, "algorithm": "bcast/linear"},
		{"collective": "bcast", "ranks": {"max": 4}, "algorithm": "bcast/chain", "params": {"chunks": 3}},
		{"collective": "bcast", "ranks": {"min": 60}, "algorithm": "bcast/chain", "params": {"chunks": 1000}},
		{"collective": "bcast", "algorithm": "built-in"},
		{"collective": "allreduce", "algorithm": "allreduce/ring"}
	]}`))
	require.NoError(t, err)
	of := func(ranks int, op Operation) (all []string, notes []Note) {
		choices, notes := ChoicesFor(ranks, rules)
		for _, c := range choices {
			if c.Operation == op {
				all = append(all, fmt.Sprint(c.Least, " ", c.Algorithm, " ", c.Params.Chunks))
			}
		}
		return all, notes
	}
	names, notes := of(4, Bcast)
	require.Contains(t, names, "0 bcast/linear 1")
	require.Contains(t, names, "4096 bcast/chain 3")
	require.Equal(t, "16777216 bcast/chain 3", names[len(names)-1])
	require.Empty(t, notes)
	names, notes = of(5, Bcast)
	require.Contains(t, names, "4096 bcast/binomial 0")
	require.Equal(t, "16777216 bcast/scatter-allgather 0", names[len(names)-1])
	require.Empty(t, notes)
	_, notes = of(60, Bcast)
	require.Len(t, notes, 1)
	require.Equal(t, "rules: line 5: engine c leaves out bcast/chain: its tables for 60 ranks are longer than 4 MiB", notes[0].String())
	names, _ = of(5, Allreduce)
	require.Equal(t, []string{"0 allreduce/doubling 0", "0 allreduce/ring 5"}, names[:2], "the ring does not fold in rank order")
	names, _ = of(5, Scan)
	require.Equal(t, []string{"0 scan/doubling 0"}, names, "no rule is about it")
	for _, ranks := range []int{2, 5, 64} {
		_, _, err := Tables(ranks, rules)
		require.NoError(t, err)
	}
}
