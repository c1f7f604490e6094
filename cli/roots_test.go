package cli

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// The report of each root is that of its own proof, except for the ranks in the note of reuse. In a
// skip ring of 2^k ranks, half of the origins are proved, and in others all.
func TestRootsInTurn(t *testing.T) {
	for _, of := range []struct {
		name         string
		ranks, turns int // turns: the roots that are proved
	}{
		{"anycast/skip-ring", 1, 1}, {"anycast/skip-ring", 2, 1}, {"anycast/skip-ring", 6, 6}, {"anycast/skip-ring", 8, 4},
		{"anyreduce/skip-ring", 4, 2}, {"anyreduce/skip-ring", 7, 7}, {"anyreduce/skip-ring", heavy.Or(8, 32), heavy.Or(4, 16)},
		{"anyreduce/circulant", 5, 1}, {"bcast/chain", 6, 1}, {"reduce/linear", 5, 5},
	} {
		j := jobs{name: of.name, ranks: source.Ranks{Lo: of.ranks, Hi: of.ranks}, allRoots: true}
		root, proved := 0, 0
		for prove := range j.all(func(string) {}, nil) {
			got, err := prove()
			require.NoError(t, err)
			if got.MovedOn == 0 {
				proved++
			} else {
				require.Zero(t, got.MovedOn%of.turns)
			}
			spec, err := schedule.New(of.name, schedule.Params{Ranks: of.ranks, Root: root})
			require.NoError(t, err)
			want, err := verify.Run(spec.Schedule())
			require.NoError(t, err)
			require.NoError(t, want.Err())
			same := *got // the proof of a root is still in use for others
			same.MovedOn, same.Results = 0, slices.Clone(got.Results)
			for i := range want.Results {
				if want.Results[i].Check == "reuse" {
					want.Results[i].Note, same.Results[i].Note = "", ""
				}
			}
			require.Equal(t, want, &same, "%s, %d ranks, root %d", of.name, of.ranks, root)
			root++
		}
		require.Equal(t, of.ranks, root)
		require.Equal(t, of.turns, proved, "%s, %d ranks", of.name, of.ranks)
	}
}
