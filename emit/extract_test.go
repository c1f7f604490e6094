package emit

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
)

func traced(t require.TestingT, s *ir.Schedule) *run {
	tr, err := trace(s, false)
	require.NoError(t, err)
	return tr
}

func TestExtractsAreSpelledAndRead(t *testing.T) {
	for _, text := range []string{"auto", "all", "path", "roles", "rank=0", "rank=17", "sums"} {
		var x Extract
		require.NoError(t, x.UnmarshalText([]byte(text)))
		require.Equal(t, text, x.String())
	}
	for _, text := range []string{"", "rank", "rank=", "rank=R", "rank=-1", "rank=99999999999", "Path"} {
		var x Extract
		require.ErrorContains(t, x.UnmarshalText([]byte(text)), "must be", text)
	}
}

func TestExtractOfARankThatIsNot(t *testing.T) {
	x := Extract{onePart, 3}
	for _, format := range []string{"svg", "html"} {
		require.ErrorContains(t, Write(&bytes.Buffer{}, format, chain(3), Options{Extract: x}), "only ranks 0 … 2", format)
	}
	require.ErrorContains(t, Rounds(&bytes.Buffer{}, chain(3), RoundsOptions{Extract: x}), "only ranks 0 … 2")
}

func TestPathLeadsToTheLastReturn(t *testing.T) {
	require.Equal(t, []int{4, 3, 2, 1, 0}, traced(t, chain(5)).path())
	p := traced(t, chain(100)).pickPath(4)
	require.Equal(t, []int{0, 1, 98, 99}, p.ranks)
	require.Contains(t, p.why, "both ends of the critical path over 100 ranks")
	stuck := traced(t, cases(t)["stuck"])
	require.NotPanics(t, func() { stuck.pickPath(8) })
}

func TestRolesAreWhatDiffersInMoreThanRanks(t *testing.T) {
	require.Equal(t, [][]int{{0, 1, 2, 3}, {4}}, traced(t, chain(5)).roles(), "the root of this chain waits for its chunk too")
	p := traced(t, chain(100)).pickRoles(8)
	require.Equal(t, []int{0, 1, 98, 99}, p.ranks)
	require.Contains(t, p.why, "0, 1 and 98 (of 99 alike); 99")
	p = traced(t, pingPong(4)).pickRoles(2)
	require.Contains(t, p.why, "2 roles")
}

func TestPartHasPartnersOfRank(t *testing.T) {
	tr := traced(t, chain(100))
	require.Equal(t, pick{[]int{6, 7, 8}, 7, "rank 7 and its partners"}, tr.pickPart(7, 8))
	sc := tr.scene(tr.pickPart(7, 8), wholeRounds)
	require.Equal(t, []int{7, 8, 9}, sc.numbers, "rank 6 returns when 7 gets, 8 when it has sent")
	require.Len(t, sc.transfers, 2)
	p := traced(t, asking(40)).pickPart(0, 5)
	require.Equal(t, []int{0, 1, 2, 38, 39}, p.ranks)
	require.Contains(t, p.why, "rank 0 and 4 of its 39 partners")
}

func TestLeftOutRoundsAreGaps(t *testing.T) {
	tr := traced(t, chain(100))
	sc := tr.scene(tr.pickRoles(8), wholeRounds)
	require.Equal(t, []int{1, 2, 99}, sc.numbers)
	require.Equal(t, []bool{false, false, true}, []bool{sc.gap(1), sc.gap(2), sc.gap(3)})
	require.Equal(t, []int{1, 2, 3, 3}, sc.done)
	require.Contains(t, svgOf(t, chain(100)), ">…<")
	require.Contains(t, drawn(t, chain(100), RoundsOptions{}), "    …   …")
	long := traced(t, pingPong(200))
	require.Len(t, long.scene(long.pickAll(), wholeRounds).numbers, wholeRounds)
}

// TestScenesShowWhatMoves checks that an extract of any ranks shows exactly the transfers of the
// run between them.
func TestScenesShowWhatMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := scattered(t, rapid.IntRange(2, 12).Draw(t, "ranks"))
		tr := traced(t, s)
		chosen := map[int]bool{}
		for _, rank := range rapid.SliceOfN(rapid.IntRange(0, s.Ranks-1), 1, 6).Draw(t, "shown") {
			chosen[rank] = true
		}
		sc := tr.scene(pick{ranks: sortedKeys(chosen), hub: -1}, wholeRounds)
		want := 0
		tr.moves(func(m transfer) {
			if chosen[m.from] && (m.to == everyone || chosen[m.to]) {
				want++
			}
		})
		require.Len(t, sc.transfers, want)
		for _, m := range sc.transfers {
			require.Less(t, max(m.from, m.to), len(sc.ranks))
		}
		require.Equal(t, len(chosen) < s.Ranks, sc.note != "")
	})
}
