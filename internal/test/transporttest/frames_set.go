package transporttest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// hasSets reports whether further communicators have windows.
func hasSets(t *testing.T, with Make) bool {
	_, ok := connect(t, with, 1).ranks[0].Windows().(wire.Sets)
	return ok
}

// windowSets checks the promises of sets of windows.
func windowSets(t *testing.T, with Make) {
	t.Run("Apart", func(t *testing.T) { testSetsApart(t, with) })
	t.Run("Again", func(t *testing.T) { testSetAgain(t, with) })
	t.Run("NoAllocation", func(t *testing.T) { testSetNoAllocation(t, with) })
	t.Run("End", func(t *testing.T) { testSetEnd(t, with) })
}

func (n *net) sets(rank int) wire.Sets { return n.window(rank).(wire.Sets) }

// open makes members open a set.
func (n *net) open(set int, epoch uint32, members ...int) map[int]wire.Shelves {
	all := map[int]wire.Shelves{}
	for _, rank := range members {
		of, err := n.sets(rank).OpenSet(set, members, epoch)
		require.NoError(n.t, err)
		all[rank] = of
	}
	return all
}

const allSets = 1<<wire.WindowSets - 2

// usage is a set that some ranks have.
type usage struct {
	set     int
	members []int
	windows map[int]wire.Shelves
}

// reached returns the members that flags of one reach.
func (u *usage) reached(from int) []int {
	return slices.DeleteFunc(slices.Clone(u.members), func(rank int) bool { return !u.windows[from].Reaches(rank) })
}

// testSetsApart uses all sets at the same time, one of them by two groups of ranks. A flag is where
// it was written, and nowhere else.
func testSetsApart(t *testing.T, with Make) {
	n := connect(t, with, 5)
	first := usage{0, []int{0, 1, 2, 3, 4}, map[int]wire.Shelves{}}
	for rank := range n.ranks {
		first.windows[rank] = n.sets(rank)
	}
	uses := []usage{first}
	for set := 1; set < wire.WindowSets; set++ {
		require.Equal(t, uint8(allSets>>set<<set), n.sets(0).FreeSets())
		uses = append(uses, usage{set, []int{0, 1, 2}, n.open(set, uint32(set), 0, 1, 2)})
	}
	uses = append(uses, usage{1, []int{3, 4}, n.open(1, 1, 3, 4)})
	flag := func(u, from, line int) wire.Flag { return wire.Flag{Seq: uint64(1000*u + line + 1), From: from} }
	for i, u := range uses {
		for from, w := range u.windows {
			to := u.reached(from)
			for _, rank := range to {
				w.Flag(rank, from, flag(i, from, from))
			}
			w.Post(wire.FlagLines, to, flag(i, from, wire.FlagLines))
			_, ok := w.Lay(wire.ChunkLine+3, to, flag(i, from, 3), []byte{byte(i), byte(from)}, 2)
			require.True(t, ok || len(to) == 0)
		}
	}
	for i, u := range uses {
		for from := range u.windows {
			for _, to := range u.reached(from) {
				w, dst := u.windows[to], make([]byte, 2)
				require.Equal(t, flag(i, from, from), w.Window(to)[from].Flag())
				require.Equal(t, flag(i, from, wire.FlagLines), w.Window(from)[wire.FlagLines].Flag())
				require.True(t, w.Collect(from, wire.ChunkLine+3, flag(i, from, 3), dst))
				require.Equal(t, []byte{byte(i), byte(from)}, dst)
			}
		}
	}
}

// testSetAgain: a set is free again once all ranks of its communicator have closed it, and not
// before. Then it is empty, whichever ranks open it next.
func testSetAgain(t *testing.T, with Make) {
	n := connect(t, with, 4)
	const set = 2
	for epoch, members := range [][]int{{0, 1, 2}, {1, 2, 3}, {0, 1, 2, 3}} {
		u := usage{set, members, n.open(set, uint32(epoch+1), members...)}
		for rank, w := range u.windows {
			for line := range w.Window(rank) {
				require.Zero(t, w.Window(rank)[line].Flag(), "rank %d, epoch %d", rank, epoch)
			}
			require.Zero(t, n.sets(rank).FreeSets()&(1<<set))
		}
		for rank, w := range u.windows {
			to := u.reached(rank)
			for line := range wire.FlagLines {
				for _, other := range to {
					w.Flag(other, line, some(rank, line))
				}
			}
			for line := wire.FlagLines; line < wire.WindowLines; line++ {
				w.Post(line, to, some(rank, line))
			}
		}
		for i, rank := range members {
			left := slices.DeleteFunc(u.reached(rank), func(other int) bool { return slices.Contains(members[:i], other) })
			n.sets(rank).CloseSet(set)
			require.Equal(t, len(left) == 0, n.sets(rank).FreeSets()&(1<<set) != 0, "rank %d", rank)
		}
	}
	all := n.open(set, 9, 0, 1)
	if !all[0].Reaches(1) {
		return
	}
	lay := func(seq uint64) bool {
		_, ok := all[0].Lay(wire.ChunkLine, []int{1}, wire.Flag{Seq: seq}, []byte("short"), 5)
		return ok
	}
	require.True(t, lay(1), "what was laid there was another's")
	require.False(t, lay(2), "rank 1 has passed nothing of this one's")
	all[1].Passed(1)
	require.True(t, lay(2), "rank 2 is no member")
	n.sets(1).CloseSet(set)
	require.True(t, lay(3), "rank 1 collects nothing any more")
}

func testSetNoAllocation(t *testing.T, with Make) {
	n := connect(t, with, 3)
	all := n.open(1, 1, 0, 1, 2)
	var to []int
	for rank := range 3 {
		if all[0].Reaches(rank) {
			to = append(to, rank)
		}
	}
	body, dst, seq := pattern(1, 300), make([]byte, 300), uint64(0)
	round := func() {
		seq++
		line, f := wire.ChunkLine+int(seq%wire.ChunkLines), wire.Flag{Seq: seq}
		for _, rank := range to {
			all[0].Flag(rank, 0, f)
		}
		all[0].Post(wire.FlagLines, to, f)
		_, ok := all[0].Lay(line, to, f, body, len(body))
		for _, rank := range to {
			require.True(t, ok && all[rank].Collect(0, line, f, dst))
			all[rank].Passed(seq)
		}
	}
	for range wire.ChunkLines {
		round()
	}
	require.Zero(t, testing.AllocsPerRun(200, round))
}

// testSetEnd: a rank that is gone keeps no set.
func testSetEnd(t *testing.T, with Make) {
	n := connect(t, with, 3)
	n.greet()
	n.open(3, 1, 0, 1, 2)
	for rank := 1; rank < 3; rank++ {
		n.sets(rank).CloseSet(3)
	}
	near := n.sets(1).Reaches(0)
	require.Equal(t, near, n.sets(1).FreeSets()&(1<<3) == 0)
	require.NoError(t, n.ranks[0].Close(true, patience))
	n.until(func() bool { return n.sinks[1].closed()+n.sinks[2].closed() == 2 }, "the others know")
	require.Equal(t, uint8(allSets), n.sets(1).FreeSets())
}
