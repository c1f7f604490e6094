package verify_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/verify"
)

// TestClaimsAreRefutedWithoutMemoryForThem checks a header that claims as many chunks as possible.
// The checks say which chunk no rank brings, and allocate nothing for the others.
func TestClaimsAreRefutedWithoutMemoryForThem(t *testing.T) {
	for header, want := range map[string]string{
		"bcast/x ranks=2 root=0 chunks=268435456":             "coverage: rank 1 never gets c0",
		"bcast/x ranks=2 root=0 chunks=268435456 recovery":    "recovery: nothing brings c0 to rank 1",
		"bcast/mcast-acktree ranks=2 root=0 chunks=268435456": "acked: root 0 may return before rank 1 has c0",
		"scatter/x ranks=2 root=0 chunks=268435456":           "coverage: rank 1 never gets c134217728",
		"gather/x ranks=2 root=0 chunks=268435456":            "coverage: rank 0 never gets c134217728",
		"allgather/x ranks=2 chunks=268435456":                "coverage: rank 0 never gets c134217728",
		"alltoall/x ranks=2 chunks=268435456":                 "coverage: rank 0 never gets c134217728",
		"barrier/x ranks=2 chunks=268435456":                  "barrier: rank 0 may leave before rank 1 enters",
	} {
		s, err := ir.ParseText(strings.NewReader(fmt.Sprintf("schedule %s\nrank 0 signals=4194304\n  done enter\nrank 1\n  done enter\n", header)))
		require.NoError(t, err, header)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		report, err := verify.Run(s)
		require.NoError(t, err)
		require.ErrorContains(t, report.Err(), "wellformed: s0 of rank 0 has no writer", header)
		s.Programs[0].Signals = 0
		report, err = verify.Run(s)
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		require.ErrorContains(t, report.Err(), want)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
	}
}
