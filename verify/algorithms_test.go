package verify_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// generate returns the schedule of an algorithm, or nil if the parameters do not fit it.
func generate(t testing.TB, name string, p schedule.Params) *ir.Schedule {
	t.Helper()
	spec, err := schedule.New(name, p)
	var bad *schedule.ParamError
	if err != nil {
		require.ErrorAs(t, err, &bad)
		return nil
	}
	return spec.Schedule()
}

func proved(t testing.TB, s *ir.Schedule, label string) *verify.Report {
	t.Helper()
	report, err := verify.Run(s)
	require.NoError(t, err)
	require.NoError(t, report.Err(), label)
	return report
}

// variants returns parameters of every kind for the given number of ranks. An algorithm refuses or
// ignores the parameters that it does not take.
func variants(ranks int) []schedule.Params {
	last, third := ranks-1, ranks/3
	return []schedule.Params{
		{Ranks: ranks},
		{Ranks: ranks, Root: third},
		{Ranks: ranks, Root: last, Chunks: 3},
		{Ranks: ranks, Root: third, Hosts: 1 + third},
		{Ranks: ranks, Degree: 2},
		{Ranks: ranks, Degree: 3},
		{Ranks: ranks, FanIn: 2, FanOut: 3},
		{Ranks: ranks, FanIn: 3, FanOut: 1, Hosts: 1 + third},
	}
}

// TestHowFarApartRanksOfHalvingCanBe checks the row of reduce/halving in the same table.
func TestHowFarApartRanksOfHalvingCanBe(t *testing.T) {
	const together = "at most 1 operation ahead when writing, 1 when entering"
	for ranks := 2; ranks <= 32; ranks *= 2 {
		for root := range ranks {
			for _, chunks := range []int{0, ranks, ranks + 1, 3*ranks - 1} {
				report, err := verify.Run(generate(t, "reduce/halving", schedule.Params{Ranks: ranks, Root: root, Chunks: chunks}), "reuse")
				require.NoError(t, err)
				require.Equal(t, together, report.Results[0].Note, "%d ranks, root %d, %d chunks", ranks, root, chunks)
			}
		}
	}
	for _, p := range []schedule.Params{{Ranks: 4, Chunks: 1}, {Ranks: 4, Root: 3, Chunks: 3}, {Ranks: 6}, {Ranks: 8, Hosts: 2}} {
		report, err := verify.Run(generate(t, "reduce/halving", p), "reuse")
		require.NoError(t, err)
		require.NotEqual(t, together, report.Results[0].Note, "%+v", p)
	}
}

// TestHowFarApartRanksCanBe checks the table of docs/checks.md that says how far apart ranks can
// be.
func TestHowFarApartRanksCanBe(t *testing.T) {
	for _, alg := range schedule.Algorithms() {
		for ranks := 2; ranks <= 17; ranks++ {
			want := "needs flow control: "
			row := alg.Row()
			switch {
			case row.Synchronizes:
				want = "at most 1 operation ahead when writing, 1 when entering"
			// some ranks wait for no others
			case row.Inputs != nil && (row.Rooted || row.Folded(ranks, 0) < ranks):
				want = ""
			case !row.Rooted: // every rank waits for all others
				want = "at most 1 operation ahead when writing, 1 when entering"
			case strings.HasSuffix(alg.Name, "/mcast-acktree") && ranks > 2:
				want = "at most 1 operation ahead when writing, 2 when entering"
			case strings.HasSuffix(alg.Name, "/mcast-acktree"):
				want = "at most 1 operation ahead when writing, 1 when entering"
			}
			for _, p := range variants(ranks) {
				s := generate(t, alg.Name, p)
				if s == nil {
					continue
				}
				report, err := verify.Run(s, "reuse")
				require.NoError(t, err)
				require.Contains(t, report.Results[0].Note, want, "%s %+v", alg.Name, p)
			}
		}
	}
}
