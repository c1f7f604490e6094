package transporttest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// windowSizes are numbers of ranks: few, and more than one look covers.
var windowSizes = []int{2, 3, 8, 11}

// hasWindows reports whether ranks have windows.
func hasWindows(t *testing.T, with Make) bool { return connect(t, with, 1).ranks[0].Windows() != nil }

// windows checks the promises of windows.
func windows(t *testing.T, with Make) {
	t.Run("Flag", func(t *testing.T) { testFlag(t, with) })
	t.Run("Wait", func(t *testing.T) { testFlagWait(t, with) })
	t.Run("NoAllocation", func(t *testing.T) { testFlagNoAllocation(t, with) })
	t.Run("End", func(t *testing.T) { testFlagEnd(t, with) })
}

func (n *net) window(rank int) wire.Windows { return n.ranks[rank].Windows() }

// reached returns the ranks that flags of a rank reach.
func (n *net) reached(from int) (ranks []int) {
	for rank := range n.ranks {
		if n.window(from).Reaches(rank) {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// some returns a flag that differs from others in all fields.
func some(from, i int) wire.Flag {
	return wire.Flag{Seq: 1<<40 + uint64(i), Mark: 0xFFFF_FFFF_FFFF_0000 - uint64(i), From: from}
}

// testFlag makes every rank write to all places of all others that it reaches, and to all places
// that it posts. A flag is where it was written, and nowhere else.
func testFlag(t *testing.T, with Make) {
	for _, size := range windowSizes {
		t.Run(fmt.Sprint("ranks=", size), func(t *testing.T) {
			n := connect(t, with, size)
			for from := range size {
				require.False(t, n.window(from).Reaches(from))
				require.Len(t, n.window(from).Window(from), wire.WindowLines)
				to := n.reached(from)
				for i := range wire.FlagLines {
					if len(to) > 0 {
						n.window(from).Flag(to[i%len(to)], i, some(from, i))
					}
				}
				for line := wire.FlagLines; line < wire.WindowLines; line++ {
					n.window(from).Post(line, to, some(from, line))
				}
				n.poll()
				for i := range wire.FlagLines {
					if len(to) > 0 {
						own := n.window(to[i%len(to)]).Window(to[i%len(to)])
						n.until(func() bool { return own[i].Flag() == some(from, i) }, "it stands there")
					}
				}
				for _, reader := range to {
					theirs := n.window(reader).Window(from)
					for line := wire.FlagLines; theirs != nil && line < wire.WindowLines; line++ {
						require.Equal(t, some(from, line), theirs[line].Flag())
					}
				}
			}
		})
	}
}

// testFlagWait makes one rank after the other wake the next one, which parks, by a flag, and all of
// them by a post.
func testFlagWait(t *testing.T, with Make) {
	const rounds = 50
	for _, size := range windowSizes {
		t.Run(fmt.Sprint("ranks=", size), func(t *testing.T) {
			n := connect(t, with, size)
			if len(n.reached(0)) < size-1 {
				return // not all reach each other
			}
			play := func(rank int) {
				tr, w, own := n.ranks[rank], n.window(rank), n.window(rank).Window(rank)
				posts := n.window(rank).Window(0)
				await := func(l *wire.Line, i int) {
					for l.Seq() != uint64(i) {
						if !tr.Poll(n.sinks[rank]) {
							tr.Wait(-1)
						}
					}
				}
				for i := 1; i <= rounds; i++ {
					f := wire.Flag{Seq: uint64(i), From: rank}
					if rank > 0 {
						await(&own[3], i)
					}
					w.Flag((rank+1)%size, 3, f)
					if rank > 0 && posts != nil {
						await(&posts[wire.FlagLines], i)
					}
					if rank == 0 {
						await(&own[3], i)
						w.Post(wire.FlagLines, n.reached(0), f)
					}
				}
				tr.Poll(n.sinks[rank]) // sends the last flag, if it has not gone before
			}
			done := signal()
			for rank := 1; rank < size; rank++ {
				go func() { play(rank); done <- struct{}{} }()
			}
			within(t, func() {
				play(0)
				for range size - 1 {
					<-done
				}
			})
		})
	}
}

func testFlagNoAllocation(t *testing.T, with Make) {
	n := connect(t, with, 4)
	to := n.reached(0)
	round := func() {
		for _, rank := range to {
			n.window(0).Flag(rank, 0, some(0, 1))
		}
		n.window(0).Post(wire.FlagLines, to, some(0, 1))
	}
	round()
	require.Zero(t, testing.AllocsPerRun(500, round))
}

// testFlagEnd checks that flags written before a goodbye are there when the goodbye is reported,
// and that flags for ranks that are gone, or from one, do no harm.
func testFlagEnd(t *testing.T, with Make) {
	n := connect(t, with, 3)
	n.greet()
	for _, rank := range n.reached(0) {
		n.window(0).Flag(rank, 7, some(0, 7))
	}
	to := n.reached(0)
	require.NoError(t, n.ranks[0].Close(true, patience))
	n.until(func() bool { return n.sinks[1].closed()+n.sinks[2].closed() == 2 }, "the others know")
	for _, rank := range to {
		require.Equal(t, some(0, 7), n.window(rank).Window(rank)[7].Flag())
		n.window(rank).Flag(0, 7, some(rank, 8))
		n.window(rank).Post(wire.FlagLines, []int{0}, some(rank, 8))
		n.window(0).Flag(rank, 7, some(0, 9))
	}
	n.window(0).Post(wire.FlagLines, to, some(0, 9))
	n.poll()
}
