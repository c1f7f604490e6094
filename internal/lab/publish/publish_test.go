//go:build linux

package publish

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/terminal"
)

// TestRun checks that one rank alone measures every cell, and that the table has a row for each.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), terminal.Stdio{Out: &out, Err: &out}, 1, 100))
	require.Equal(t, 1+len(cells), bytes.Count(out.Bytes(), []byte("\n")))
	require.Contains(t, out.String(), "anycast/mcast-acktree")
}

func TestMedian(t *testing.T) {
	require.Equal(t, time.Duration(2), median([]time.Duration{3, 1, 2}))
}
