package golden

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/verify"
)

// TestBroken holds what verify says about every schedule in testdata/broken
// against the file beside it: each check that does not hold, in one line.
// SCHEDGEN_UPDATE=1 records.
func TestBroken(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "broken", "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	refutedBy := map[string]bool{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			s, err := ir.ParseText(bytes.NewReader(text))
			require.NoError(t, err)
			requireCanonical(t, s, text)

			report, err := verify.Run(s)
			require.NoError(t, err)
			require.Error(t, report.Err(), "the schedule is not broken")
			compare(t, strings.TrimSuffix(file, ".txt")+".want", []byte(report.Err().Error()+"\n"))
			for _, res := range report.Results {
				refutedBy[res.Check] = refutedBy[res.Check] || res.Err != nil
			}
		})
	}
	for _, c := range verify.Checks() {
		require.True(t, refutedBy[c.Name], "no broken schedule is refuted by %s", c.Name)
	}
}

// TestGood holds that every schedule in testdata/good verifies, by all checks: none of them is what
// an algorithm of ours makes.
func TestGood(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "good", "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			s, err := ir.ParseText(bytes.NewReader(text))
			require.NoError(t, err)
			requireCanonical(t, s, text)
			report, err := verify.Run(s)
			require.NoError(t, err)
			require.NoError(t, report.Err())
		})
	}
}

// requireCanonical holds the text against what ir writes, so that the file is
// broken in nothing but what it does.
func requireCanonical(t *testing.T, s *ir.Schedule, text []byte) {
	t.Helper()
	var again bytes.Buffer
	require.NoError(t, ir.WriteText(&again, s))
	require.Equal(t, string(text), again.String())
}

// TestNoStrayWants finds failures whose schedule is gone.
func TestNoStrayWants(t *testing.T) {
	wants, err := filepath.Glob(filepath.Join("testdata", "broken", "*.want"))
	require.NoError(t, err)
	for _, want := range wants {
		require.FileExists(t, strings.TrimSuffix(want, ".want")+".txt")
	}
}
