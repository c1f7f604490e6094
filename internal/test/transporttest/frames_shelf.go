package transporttest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// hasShelves reports whether windows hold chunks.
func hasShelves(t *testing.T, with Make) bool {
	_, ok := connect(t, with, 1).ranks[0].Windows().(wire.Shelves)
	return ok
}

// shelves checks the promises of shelves.
func shelves(t *testing.T, with Make) {
	t.Run("Lay", func(t *testing.T) { testLay(t, with) })
	t.Run("Again", func(t *testing.T) { testLayAgain(t, with) })
	t.Run("Revoke", func(t *testing.T) { testRevoke(t, with) })
	t.Run("Stream", func(t *testing.T) { testLayStream(t, with) })
	t.Run("LayMany", func(t *testing.T) { testLayMany(t, with) })
	t.Run("NoAllocation", func(t *testing.T) { testLayNoAllocation(t, with) })
	t.Run("End", func(t *testing.T) { testLayEnd(t, with) })
}

func (n *net) shelf(rank int) wire.Shelves { return n.window(rank).(wire.Shelves) }

// shelfSizes are lengths of chunks: in their lines, beside them, and lent, and at the limits
// between these.
var shelfSizes = []int{0, 1, wire.ShortChunk - 1, wire.ShortChunk, wire.ShortChunk + 1, 511, 512, 513, 1023, 1024, 1025, 16<<10 - 1, 16 << 10, 16<<10 + 1, 1 << 20}

// testLay lays a chunk of every length in every line, and all ranks collect it.
func testLay(t *testing.T, with Make) {
	for _, size := range windowSizes {
		t.Run(fmt.Sprint("ranks=", size), func(t *testing.T) {
			n := connect(t, with, size)
			for i, length := range shelfSizes {
				from, line := i%size, wire.ChunkLine+i%wire.ChunkLines
				to, f, body := n.reached(from), some(from, i), pattern(i, length)
				before := n.ranks[from].Stats().PutBytes
				lent, ok := n.shelf(from).Lay(line, to, f, body, 1<<20)
				if !ok {
					require.True(t, len(to) == 0 || length > 256, "a short chunk always stands")
					continue
				}
				require.EqualValues(t, len(to)*length, n.ranks[from].Stats().PutBytes-before, "bytes put")
				require.Equal(t, lent && len(to) > 0, !n.shelf(from).Collected(line))
				for _, rank := range to {
					require.Equal(t, f, n.window(rank).Window(from)[line].Flag())
					dst := make([]byte, length)
					require.True(t, n.shelf(rank).Collect(from, line, f, dst))
					require.True(t, bytes.Equal(body, dst), "%d bytes", length)
				}
				require.True(t, n.shelf(from).Collected(line))
			}
		})
	}
}

// testLayAgain: a line can be written again as soon as all ranks have passed its content, and no
// sooner.
func testLayAgain(t *testing.T, with Make) {
	n := connect(t, with, 3)
	to := n.reached(0)
	lay := func(seq uint64) bool {
		_, ok := n.shelf(0).Lay(wire.ChunkLine, to, wire.Flag{Seq: seq}, []byte("short"), 5)
		return ok
	}
	if len(to) == 0 {
		return
	}
	require.True(t, lay(5))
	for _, rank := range to {
		require.False(t, lay(6))
		n.shelf(rank).Passed(4)
		require.False(t, lay(6))
		n.shelf(rank).Passed(5)
	}
	for rank := range n.ranks {
		n.shelf(rank).Passed(5) // ranks that it does not reach need not pass it
	}
	require.True(t, lay(6))
	require.False(t, lay(7))
}

// testLayMany lays chunks in all lines at the same time. Each stays as it is until it is passed,
// whatever is written beside it.
func testLayMany(t *testing.T, with Make) {
	n := connect(t, with, 2)
	to, dst := n.reached(0), make([]byte, 500)
	if len(to) == 0 {
		return
	}
	read := 0
	collect := func(upTo int) {
		for ; read < upTo; read++ {
			line, f := wire.ChunkLine+read%wire.ChunkLines, wire.Flag{Seq: uint64(read + 1)}
			require.True(t, n.shelf(1).Collect(0, line, f, dst))
			require.Equal(t, pattern(read, len(dst)), dst, "chunk %d", read)
			n.shelf(1).Passed(f.Seq)
		}
	}
	for i := range 5 * wire.ChunkLines {
		if i-read == wire.ChunkLines {
			collect(read + 1 + i%wire.ChunkLines)
		}
		_, ok := n.shelf(0).Lay(wire.ChunkLine+i%wire.ChunkLines, to, wire.Flag{Seq: uint64(i + 1)}, pattern(i, len(dst)), len(dst))
		require.True(t, ok)
	}
	collect(5 * wire.ChunkLines)
}

// testRevoke takes back a lent chunk: no rank collects it any more.
func testRevoke(t *testing.T, with Make) {
	n := connect(t, with, 3)
	to, body := n.reached(0), pattern(1, 100<<10)
	f := wire.Flag{Seq: 1}
	lent, ok := n.shelf(0).Lay(wire.ChunkLine, to, f, body, len(body))
	if !ok || len(to) == 0 {
		return
	}
	require.True(t, lent)
	n.shelf(0).Revoke(wire.ChunkLine)
	for _, rank := range to {
		require.False(t, n.shelf(rank).Collect(0, wire.ChunkLine, f, make([]byte, len(body))))
	}
}

// testLayStream makes one rank lay chunks of all lengths as fast as the others, which park, collect
// them. It checks every byte. A lender changes the chunk once it is collected.
func testLayStream(t *testing.T, with Make) {
	const rounds = 300
	for _, size := range windowSizes {
		t.Run(fmt.Sprint("ranks=", size), func(t *testing.T) {
			n := connect(t, with, size)
			to := n.reached(0)
			if len(to) < size-1 {
				return // not all reach each other
			}
			length := func(i int) int { return shelfSizes[i%(len(shelfSizes)-1)] }
			wait := func(rank int, met func() bool) {
				for !met() {
					if !n.ranks[rank].Poll(n.sinks[rank]) {
						n.ranks[rank].Wait(-1)
					}
				}
			}
			read := func(rank int) error {
				lines, skipped := n.window(rank).Window(0), &n.window(rank).Window(rank)[0]
				for i := 1; i <= rounds; i++ {
					line := wire.ChunkLine + i%wire.ChunkLines
					wait(rank, func() bool { return lines[line].Seq() == uint64(i) || skipped.Seq() >= uint64(i) })
					if lines[line].Seq() == uint64(i) {
						dst := make([]byte, length(i))
						if !n.shelf(rank).Collect(0, line, lines[line].Flag(), dst) || !bytes.Equal(dst, pattern(i, length(i))) {
							return fmt.Errorf("rank %d: wrong bytes in chunk %d of %d bytes", rank, i, length(i))
						}
					}
					n.shelf(rank).Passed(uint64(i))
					n.shelf(rank).Flag(0, rank, wire.Flag{Seq: uint64(i), From: rank})
				}
				return nil
			}
			done := make(chan error, size)
			for rank := 1; rank < size; rank++ {
				go func() { done <- read(rank) }()
			}
			within(t, func() {
				all := func(i int) bool {
					for rank := 1; rank < size; rank++ {
						if n.window(0).Window(0)[rank].Seq() < uint64(max(i, 0)) {
							return false
						}
					}
					return true
				}
				for i := 1; i <= rounds; i++ {
					line, body := wire.ChunkLine+i%wire.ChunkLines, bytes.Clone(pattern(i, length(i)))
					wait(0, func() bool { return all(i - wire.ChunkLines) })
					lent, ok := n.shelf(0).Lay(line, to, wire.Flag{Seq: uint64(i)}, body, 1<<20)
					if !ok {
						for _, rank := range to {
							n.shelf(0).Flag(rank, 0, wire.Flag{Seq: uint64(i)})
						}
					}
					if lent {
						wait(0, func() bool { return n.shelf(0).Collected(line) })
					}
					clear(body)
				}
				for range size - 1 {
					require.NoError(t, <-done)
				}
			})
		})
	}
}

func testLayNoAllocation(t *testing.T, with Make) {
	n := connect(t, with, 4)
	to := n.reached(0)
	bodies := [][]byte{pattern(1, 8), pattern(1, 300), pattern(1, 64<<10)}
	dst := make([]byte, 64<<10)
	seq := uint64(0)
	round := func() {
		for _, body := range bodies {
			seq++
			line, f := wire.ChunkLine+int(seq%wire.ChunkLines), wire.Flag{Seq: seq}
			if _, ok := n.shelf(0).Lay(line, to, f, body, 1<<20); ok {
				for _, rank := range to {
					n.shelf(rank).Collect(0, line, f, dst[:len(body)])
				}
			}
			for rank := range n.ranks {
				n.shelf(rank).Passed(seq)
			}
		}
	}
	for range wire.ChunkLines {
		round()
	}
	require.Zero(t, testing.AllocsPerRun(200, round))
}

// testLayEnd checks that the chunks of a rank that has left can be collected unless they were lent,
// and that chunks for ranks that have left do no harm.
func testLayEnd(t *testing.T, with Make) {
	n := connect(t, with, 3)
	n.greet()
	to, f, body := n.reached(0), wire.Flag{Seq: 1}, pattern(3, 200)
	_, ok := n.shelf(0).Lay(wire.ChunkLine, to, f, body, len(body))
	require.True(t, ok || len(to) == 0)
	require.NoError(t, n.ranks[0].Close(true, patience))
	n.until(func() bool { return n.sinks[1].closed()+n.sinks[2].closed() == 2 }, "the others know")
	for _, rank := range to {
		dst := make([]byte, len(body))
		require.True(t, n.shelf(rank).Collect(0, wire.ChunkLine, f, dst))
		require.Equal(t, body, dst)
		_, _ = n.shelf(rank).Lay(wire.ChunkLine, []int{0}, f, pattern(4, 100<<10), 1<<20)
	}
	_, ok = n.shelf(0).Lay(wire.ChunkLine+1, to, f, body, len(body))
	require.False(t, ok, "it is closed")
	n.poll()
}
