package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/schedule"
)

// A schedule that is too large is refused by the beginning of its programs, which would take
// gigabytes as a whole.
func TestTooLargeIsSaidBeforeItBegins(t *testing.T) {
	for args, want := range heavy.Or(map[string]string{
		"verify allreduce/ring -p 1000000": "more than 33554432 rules or transfers; at most so many are built",
		"show allreduce/linear -p 65536":   "more than 33554432 rules or transfers; at most so many are built",
	}, map[string]string{
		"verify reduce-scatter/star -p 65536":                 "more than 33554432 rules or transfers; at most so many are built",
		"verify allreduce/two-shot -p 65536":                  "more than 33554432 rules or transfers; at most so many are built",
		"verify allreduce/ring -p 1000000":                    "more than 33554432 rules or transfers; at most so many are built",
		"verify allreduce/halving -p 1000000":                 "more than 33554432 rules or transfers; at most so many are built",
		"verify bcast/chain -p 1000000 --chunks 1000000":      "at most",
		"show allreduce/linear -p 65536":                      "at most so many are built",
		"emit allreduce/linear -p 65536":                      "at most so many are built",
		"cost allreduce/halving -p 65536":                     "at most so many are built",
		"verify allreduce/multiplying -p 65536 --chunks 9000": "at most so many are built",
	}) {
		code, out, said := execute(t, args)
		require.Equal(t, terminal.Bad, code, args)
		require.Empty(t, out)
		require.Contains(t, said, want, args)
	}
}

// Schedules that verify need not build are larger than those that it builds. verify sees so from
// the programs of a few ranks.
func TestLeanSchedules(t *testing.T) {
	for name, want := range map[string]bool{
		"allgather/ring": true, "allreduce/halving": true, "reduce/halving": true, "reduce-scatter/halving": true,
		"allreduce/two-shot": true, "bcast/symmetric": false, "bcast/scatter-allgather": true,
	} {
		spec, err := schedule.New(name, schedule.Params{Ranks: 4096})
		require.NoError(t, err)
		require.Equal(t, want, isLean(spec), name)
	}
}
