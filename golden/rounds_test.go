package golden

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// TestAllTellTheSameRounds checks that all outputs agree with package fixpoint on the number of
// rounds and on the round in which a call returns. TestExplorer checks the explorer's page. Daily
// tests take few numbers of ranks.
func TestAllTellTheSameRounds(t *testing.T) {
	all := []schedule.Params{{Ranks: 1}, {Ranks: 5}, {Ranks: 9, Hosts: 4}, {Ranks: 2}, {Ranks: 8}, {Ranks: 9}, {Ranks: 100}}
	for _, alg := range schedule.Algorithms() {
		for _, p := range heavy.Or(all[:3], all) {
			if p.Hosts > 0 && !slices.Contains(alg.Params, "hosts") {
				continue
			}
			t.Run(fmt.Sprintf("%s %d %d", alg.Name, p.Ranks, p.Hosts), func(t *testing.T) { requireSameRounds(t, made(t, alg.Name, p)) })
		}
	}
}

func requireSameRounds(t *testing.T, s *ir.Schedule) {
	t.Helper()
	res, err := fixpoint.Run(s, fixpoint.Model{})
	require.NoError(t, err)
	want, returns := res.Rounds(), res.Returns()
	require.Equal(t, want, slices.Max(returns), "all calls return")

	cost, err := verify.CostOf(s)
	require.NoError(t, err)
	require.Equal(t, want, cost.Rounds, "cost")
	told := fmt.Sprintf("· %d rounds,", want)
	if want == 1 {
		told = "· 1 round,"
	}
	var shown bytes.Buffer
	require.NoError(t, emit.Rounds(&shown, s, emit.RoundsOptions{Width: 2000}))
	require.Contains(t, shown.String(), told, "show")
	for rank, at := range shownReturns(t, shown.String()) {
		require.Equal(t, returns[rank], at, "show, rank %d", rank)
	}
	svg := emitted(t, "svg", s)
	require.Contains(t, svg, told, "svg")
	require.Contains(t, svg, fmt.Sprintf("The last call returns after round %d.", want), "svg")
	require.Contains(t, emitted(t, "dot", s), strings.TrimPrefix(told, "· "), "dot")
	for rank, at := range returns {
		require.Equal(t, fmt.Sprint(at, " of ", want), explainedReturn(t, s, rank), "explain rank %d", rank)
	}
}

func emitted(t *testing.T, format string, s *ir.Schedule) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, emit.Write(&b, format, s, emit.Options{}))
	return b.String()
}

// shownReturns reads the rows of a drawing that list its ranks and when their calls return.
func shownReturns(t *testing.T, shown string) map[int]int {
	t.Helper()
	ranks, rounds := shownRow(t, shown, "round "), shownRow(t, shown, "return ")
	require.NotEmpty(t, ranks)
	require.Len(t, rounds, len(ranks))
	out := map[int]int{}
	for lane, rank := range ranks {
		out[rank] = rounds[lane]
	}
	return out
}

// shownRow returns the numbers of the row of a drawing that begins with name.
func shownRow(t *testing.T, shown, name string) []int {
	t.Helper()
	var out []int
	for line := range strings.Lines(shown) {
		row, ok := strings.CutPrefix(line, name)
		if !ok {
			continue
		}
		for _, word := range strings.Fields(row) {
			n, err := strconv.Atoi(word)
			require.NoError(t, err)
			out = append(out, n)
		}
	}
	return out
}

var returning = regexp.MustCompile(`after round (\d+ of \d+)\.`)

// explainedReturn returns when a rank's call returns, according to its story.
func explainedReturn(t *testing.T, s *ir.Schedule, rank int) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, emit.Explain(&b, s, rank))
	text := strings.Join(strings.Fields(b.String()), " ")
	if strings.Contains(text, "returns at once.") {
		return "0 of 0"
	}
	m := returning.FindStringSubmatch(text)
	require.Len(t, m, 2, text)
	return m[1]
}
