package compare

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
)

// TestLoads checks that the bound follows from the row of the collective, and the rest from the
// schedule's cost.
func TestLoads(t *testing.T) {
	for algorithm, want := range map[string]loads{
		"scatter/linear":   {messages: 4, sent: 4, out: 4, in: 1, leastOut: 4, leastIn: 1},
		"scatter/binomial": {messages: 4, sent: 5, out: 4, in: 2, leastOut: 4, leastIn: 1},
		"gather/linear":    {messages: 4, sent: 4, out: 1, in: 4, leastOut: 1, leastIn: 4},
		"allgather/ring":   {messages: 20, sent: 20, out: 4, in: 4, leastOut: 1, leastIn: 4},
		"alltoall/linear":  {messages: 20, sent: 20, out: 4, in: 4, leastOut: 4, leastIn: 4},
		"alltoall/bruck":   {messages: 15, sent: 25, out: 5, in: 5, leastOut: 4, leastIn: 4},
	} {
		got, err := loadsOf(algorithm, 5)
		require.NoError(t, err)
		require.Equal(t, want, got, algorithm)
	}
	_, err := loadsOf("allgather/no", 5)
	require.Error(t, err)
}

func TestWireTable(t *testing.T) {
	of := cell{wireShm, "alltoall", 5, 8}
	r := &results{rows: []row{
		means(of, ours, "shm alltoall/bruck", 1), means(of, peer, "openmpi", 1),
		means(cell{wireTCP, "alltoall", 5, 1024}, ours, "tcp alltoall/bruck", 1), means(one, ours, "tcp bcast/chain", 1),
	}}
	var b bytes.Buffer
	r.wireTable(&b)
	require.Equal(t, 1, bytes.Count(b.Bytes(), []byte("bruck")), "each algorithm once, whatever the size")
	require.Contains(t, b.String(), "| alltoall/bruck | 5 | 15 | 25 | 5 | 4 | 5 | 4 | 1.25 |\n")
	b.Reset()
	(&results{rows: r.rows[3:]}).wireTable(&b)
	require.Empty(t, b.String())
}

// TestCollectivesOfBlocksAreCompared checks that every collective whose blocks differ from rank to
// rank is compared, and that the peers' program has it.
func TestCollectivesOfBlocksAreCompared(t *testing.T) {
	v, err := parse(t, "--wire", "shm", "-p", "5", "--size", "7B")
	require.NoError(t, err)
	micro, err := os.ReadFile("../mpi/micro.c")
	require.NoError(t, err)
	for _, row := range ir.Collectives() {
		if movesBlocks(row.Name) {
			require.Contains(t, v.cells, cell{wireShm, row.Name, 5, 7})
			require.Contains(t, string(micro), `"`+row.Name+`"`)
		}
	}
}
